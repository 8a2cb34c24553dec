from holdfast import errors


def test_every_error_is_a_holdfast_error_and_bad_input_a_value_error():
    for name in errors.__all__:
        assert issubclass(getattr(errors, name), errors.HoldfastError)
        assert name in errors.__doc__
    assert issubclass(errors.InputError, ValueError)


def test_several_bad_rows_are_named():
    error = errors.NonFiniteError((1, 4))
    assert str(error) == "rows 1, 4 hold NaN, infinite or overflowing values; drop them, or use defend()"
    assert error.rows == (1, 4)
