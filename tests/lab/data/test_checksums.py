"""Stored results carry the checksum of the data they were computed from: loaders must keep returning it."""

import pytest

from holdfast.lab.data import cifar10, digits, phishing, phishing_urls, spambase, twitter

from .folder import CIFAR10, TWEETS, needs


def test_data_that_comes_with_the_package_stays_as_it_is():
    assert phishing().checksum == "5bda54f87afb8b80b06027b04aafbe907cd8ed70132df2042f4e7b168bb7ef65"
    assert digits().checksum == "13f449dbed34e05fefef59c62a203bee6671fc2c9ce4a9ca3ae547bfdc38fd27"


@needs("phishing_legitimate_48.csv", "spambase_57.csv")
def test_tables_stay_as_they_are():
    assert phishing_urls().checksum == "aad1c57e70da18b20c4b2d6dc267395e1d1ee2e0a9469c378e360070f9f08152"
    assert spambase().checksum == "8359c18afa462bc1cb0a927c4f7d4be83fb5cc3a873fc9699067203dcc14091e"


@CIFAR10
@pytest.mark.parametrize(
    ("n_train", "checksum"),
    [
        (1_000, "044e35e6b8438dc30db3bc86a4216e34591246a9b847ccd1b617c9b8ddb6150a"),
        pytest.param(
            50_000,
            "121cf97ac2cef77906708242860c9ccf6ed52bdf66a4c1fc19fd9e6e11cdd94d",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_images_stay_as_they_are(n_train, checksum):
    assert cifar10(n_train=n_train, n_test=200 if n_train == 1_000 else 2_000).checksum == checksum


@TWEETS
def test_tweets_stay_as_they_are():
    checksum = "d3008094ba1118cf29430e4618fdaed7975534463482a6b327a5fb0fa58678dd"
    assert twitter(n_test=2_000).checksum == checksum
