from importlib import import_module

from holdfast import theory

MODULES = ("convergence", "failures", "flips", "laws", "one_dimension", "printed", "rules", "sampling")


def test_every_public_name_of_its_modules_is_a_name_of_the_package():
    names = [name for module in MODULES for name in import_module(f"holdfast.theory.{module}").__all__]
    assert sorted(names) == sorted(theory.__all__)
    assert all(hasattr(theory, name) for name in theory.__all__)
