"""Files that a hostile client might leave in place of its model. Each returns what the reason must say."""

import json
import os
import socket

import numpy as np

from holdfast.files import save_tensors

HOSTILE = {}


def hostile(make):
    HOSTILE[make.__name__] = make
    return make


def split(path):
    """Return the header as a dictionary, and the bytes of the numbers."""
    raw = path.read_bytes()
    length = int.from_bytes(raw[:8], "little")
    return json.loads(raw[8 : 8 + length]), raw[8 + length :]


def join(path, header, data):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)


def edited(path, change):
    header, data = split(path)
    change(header)
    join(path, header, data)


@hostile
def truncated(path):
    path.write_bytes(path.read_bytes()[:-5])
    return "but its header describes"


@hostile
def longer_than_it_says(path):
    path.write_bytes(path.read_bytes() + b"more")
    return "but its header describes"


@hostile
def empty(path):
    path.write_bytes(b"")
    return "is no safetensors file: 0 bytes"


@hostile
def a_header_longer_than_the_file(path):
    path.write_bytes((2**63).to_bytes(8, "little") + b"{}")
    return "has a header of 9223372036854775808 bytes in a file of 10"


@hostile
def a_huge_header(path):
    size = 200_000_000
    with open(path, "wb") as file:
        file.write(size.to_bytes(8, "little"))
        file.truncate(8 + size)  # a hole: nothing is on the disk
    return "more than the"


@hostile
def a_header_of_noise(path):
    join(path, bytes(range(200, 256)) * 4, b"")
    return "not a JSON object"


@hostile
def a_header_of_half_a_json(path):
    join(path, b'{"a": ', b"")
    return "not JSON"


@hostile
def a_header_nested_a_million_times(path):
    join(path, b'{"a":' + b"[" * 400_000, b"")
    return "not JSON"


@hostile
def a_header_that_is_a_list(path):
    join(path, b"[]", b"")
    return "not a JSON object"


@hostile
def a_header_with_a_key_twice(path):
    header, data = split(path)
    text = json.dumps(header).encode()
    join(path, text[:-1] + b', "b.bias": ' + json.dumps(header["b.bias"]).encode() + b"}", data)
    return "says something twice"


@hostile
def overlapping(path):
    def change(header):
        start, _ = header["a.weight"]["data_offsets"]
        header["b.bias"]["data_offsets"] = [start, start + 44]

    edited(path, change)
    return "overlap"


@hostile
def out_of_range(path):
    edited(path, lambda header: header["b.bias"].update(data_offsets=[10**15, 10**15 + 44]))
    return "leave a hole"


@hostile
def negative_offsets(path):
    edited(path, lambda header: header["b.bias"].update(data_offsets=[-44, 0]))
    return "impossible offsets"


@hostile
def offsets_that_are_no_numbers(path):
    edited(path, lambda header: header["b.bias"].update(data_offsets=["0", None]))
    return "impossible offsets"


@hostile
def a_hole(path):
    header, data = split(path)
    for entry in header.values():
        entry["data_offsets"] = [at + 8 for at in entry["data_offsets"]]
    join(path, header, b"12345678" + data)
    return "leave a hole"


@hostile
def a_huge_shape(path):
    edited(path, lambda header: header["b.bias"].update(shape=[2**40, 2**40, 11]))
    return "but its shape needs"


@hostile
def a_shape_of_thousands_of_dimensions(path):
    edited(path, lambda header: header["b.bias"].update(shape=[1] * 5000 + [11]))
    return "impossible shape"


@hostile
def a_shape_with_a_truth_value(path):
    edited(path, lambda header: header["b.bias"].update(shape=[True, 11]))
    return "impossible shape"


@hostile
def an_unknown_type(path):
    edited(path, lambda header: header["b.bias"].update(dtype="F8_E4M3"))
    return "unknown type: F8_E4M3"


@hostile
def a_wrong_type(path):
    edited(path, lambda header: header["b.bias"].update(dtype="I32"))
    return "wrong type of 'b.bias': I32, not F32"


@hostile
def a_wrong_shape(path):
    edited(path, lambda header: header["b.bias"].update(shape=[1, 11]))
    return "wrong shape of 'b.bias': (1, 11), not (11,)"


@hostile
def a_missing_key(path):
    save_tensors(path, {"a.weight": np.zeros((3, 100), np.float32)})
    return "lacks 'empty' and 3 more"


@hostile
def a_foreign_key(path):
    edited(path, lambda header: header.update(evil={"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}))
    return "holds 'evil', which the base does not have"


@hostile
def more_about_a_tensor_than_there_is(path):
    edited(path, lambda header: header["b.bias"].update(path="/etc/passwd"))
    return "by other than dtype, shape and data_offsets"


@hostile
def metadata_that_are_no_strings(path):
    edited(path, lambda header: header.update(__metadata__={"x": [1]}))
    return "metadata that are not strings"


@hostile
def not_a_number_inside(path):
    header, data = split(path)
    join(path, header, data[:-4] + np.float32(np.nan).tobytes())
    return "holds NaN, infinite or overflowing values"


@hostile
def infinite_inside(path):
    header, data = split(path)
    join(path, header, np.float32(np.inf).tobytes() + data[4:])
    return "holds NaN, infinite or overflowing values"


@hostile
def a_symlink(path):
    path.rename(path.with_suffix(".real"))
    path.symlink_to(path.with_suffix(".real"))
    return "is a symbolic link"


@hostile
def a_pipe(path):
    path.unlink()
    os.mkfifo(path)
    return "is not a regular file"


@hostile
def a_socket(path):
    path.unlink()
    here = os.getcwd()
    os.chdir(path.parent)  # a socket's path must be short
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    finally:
        os.chdir(here)
    return "is not a regular file"


@hostile
def a_device(path):
    path.unlink()
    path.symlink_to("/dev/zero")
    return "is a symbolic link"


@hostile
def an_empty_folder(path):
    path.unlink()
    path.mkdir()
    return "is a folder with no safetensors file, not one model"


@hostile
def a_folder_of_several_models(path):
    content = path.read_bytes()
    path.unlink()
    path.mkdir()
    for name in ("ann", "bob"):
        (path / f"{name}.safetensors").write_bytes(content)
    return "is a folder of 2 safetensors files and no index that makes them one model"


@hostile
def nothing(path):
    path.unlink()
    return "cannot be opened: No such file or directory"


@hostile
def a_folder_that_points_out_of_itself(path):
    path.unlink()
    path.mkdir()
    index = {"weight_map": {"a.weight": "../c00.safetensors"}}
    (path / "model.safetensors.index.json").write_text(json.dumps(index))
    return "points out of its folder"


@hostile
def a_folder_with_a_link_inside(path):
    path.unlink()
    path.mkdir()
    (path / "model.safetensors").symlink_to(path.parent / "c00.safetensors")
    return "cannot be opened: symbolic link"


@hostile
def an_index_that_lies(path):
    path.rename(path.with_suffix(".moved"))
    path.mkdir()
    path.with_suffix(".moved").rename(path / "model-1.safetensors")
    index = {"weight_map": {"a.weight": "model-1.safetensors"}}
    (path / "model.safetensors.index.json").write_text(json.dumps(index))
    return "describes other tensors than its files hold"


@hostile
def a_second_file_of_the_name(path):
    path.with_suffix(".json").write_text("x")
    return "two files have this name"


@hostile
def a_folder_of_the_name_with_the_same_model(path):
    path.with_suffix("").mkdir()
    (path.with_suffix("") / "model.safetensors").write_bytes(path.read_bytes())
    return "two files have this name"


@hostile
def an_index_of_the_name_to_another_clients_file(path):
    header, _ = split(path)
    index = {"weight_map": dict.fromkeys(header, "c00.safetensors")}
    path.with_suffix(".safetensors.index.json").write_text(json.dumps(index))
    return "two files have this name"


@hostile
def three_files_of_the_name(path):
    path.with_suffix(".json").symlink_to("/dev/zero")
    path.with_suffix("").mkdir()
    return "3 files have this name"


def all_given(clients):
    """Return the clients' paths, and those that hostile clients have put beside them."""
    folder = clients[0].parent
    beside = {*folder.glob("*.json"), *(path.with_suffix("") for path in clients)} - {*clients}
    return [*clients, *sorted(path for path in beside if os.path.lexists(path))]


def index_of(path, places, name="model.safetensors.index.json"):
    """Put a folder with an index, and the client's file in it, in place of the file."""
    path.rename(path.with_suffix(".moved"))
    path.mkdir()
    path.with_suffix(".moved").rename(path / "model-1.safetensors")
    (path / name).write_text(json.dumps({"weight_map": places}))


@hostile
def a_shard_with_a_null_in_its_name(path):
    index_of(path, {"a.weight": "a\0b"})
    return "points out of its folder"


@hostile
def a_shard_whose_name_cannot_be_encoded(path):
    index_of(path, {"a.weight": "\ud800"})
    return "points out of its folder"


@hostile
def an_index_whose_name_is_a_line_of_its_own(path):
    index_of(path, {}, "\nclient c01: fine\x1b[2J.safetensors.index.json")
    return r"has an index, \nclient c01: fine\x1b[2J.safetensors.index.json, without a weight_map"


@hostile
def an_index_of_thousands_of_shards(path):
    index_of(path, {f"t{number}": f"s{number}" for number in range(20_000)})
    return "has an index of 't0' and 19999 more, which the base does not have"


@hostile
def a_type_that_cannot_be_encoded(path):
    edited(path, lambda header: header["b.bias"].update(dtype="\ud800"))
    return r"unknown type: \ud800"


@hostile
def a_type_that_clears_the_screen(path):
    edited(path, lambda header: header["b.bias"].update(dtype="\x1b[2J\nclient c01"))
    return r"unknown type: \x1b[2J\nclient c01"


@hostile
def a_name_of_900_kilobytes_before_a_hole(path):
    far = {"dtype": "F32", "shape": [], "data_offsets": [10**15, 10**15 + 4]}
    edited(path, lambda header: header.pop("scale") and header.update({"n" * 900_000: far}))
    return "leave a hole before 'nnn"
