from importlib import import_module

from holdfast import theory

#: The others are machinery: what they have in public is for the command line and for tests.
MODULES = (
    "adviser",
    "convergence",
    "failures",
    "federation",
    "laws",
    "one_dimension",
    "rules",
    "sampling",
    "verification",
)


def test_every_public_name_of_its_modules_is_a_name_of_the_package():
    names = [name for module in MODULES for name in import_module(f"holdfast.theory.{module}").__all__]
    assert sorted(names) == sorted(theory.__all__)
