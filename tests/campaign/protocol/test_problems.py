from quietcrowd.campaign.protocol.problems import Problem, broken_rule


def test_a_broken_rule_is_told_with_its_place():
    error = broken_rule("/a", "missing", "It is missing.")
    assert (error.name, error.status) == ("validation", 422)
    assert error.errors == (Problem(pointer="/a", code="missing", message="It is missing."),)
