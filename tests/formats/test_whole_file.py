import pytest

import quietcrowd as qc
from quietcrowd.formats.whole_file import new_folder


def test_a_folder_is_there_when_it_is_whole(tmp_path):
    with new_folder(tmp_path / "new") as temporary:
        (temporary / "file").write_text("1")
        assert not (tmp_path / "new").exists()
    assert (tmp_path / "new" / "file").read_text() == "1"
    assert [path.name for path in tmp_path.iterdir()] == ["new"]


def test_nothing_is_there_where_something_goes_wrong(tmp_path):
    def stop():
        with new_folder(tmp_path / "new") as temporary:
            (temporary / "file").write_text("1")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stop()
    assert list(tmp_path.iterdir()) == []


def test_what_is_there_is_kept(tmp_path):
    (tmp_path / "old").write_text("1")
    with (
        pytest.raises(qc.ParameterError, match="old is there already"),
        new_folder(tmp_path / "old"),
    ):
        pass
    assert (tmp_path / "old").read_text() == "1"
