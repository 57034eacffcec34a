"""The parts of the page: functions of draws, kept records and the method that is judged."""

from under_noise.calibration import calibration_part
from under_noise.families import family_part
from under_noise.hostile import hostile_part
from under_noise.labels import label_part, two_layer_part
from under_noise.null_labels import null_part
from under_noise.plain import plain_part
from under_noise.quality import quality_part
from under_noise.real_numbers import number_part
from under_noise.shared import shared_part

PARTS = {
    "labels": label_part,
    "two-layer": two_layer_part,
    "null": null_part,
    "plain": plain_part,
    "families": family_part,
    "numbers": number_part,
    "calibration": calibration_part,
    "quality": quality_part,
    "hostile": hostile_part,
    "shared": shared_part,
}
