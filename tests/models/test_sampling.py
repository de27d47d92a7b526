"""How new points are drawn: reading some points, groups, candidates, confidence, saving."""

import numpy as np
import pytest
import torch
from maps import SMALL, relative_gap, shuffled, widened

from ddeq import Completer, PointClouds
from ddeq.inference import complete_cloud
from ddeq.models.sampling import Sampling, some_points
from ddeq.nn import MissingShare, Network
from ddeq.solvers import Picard

NETWORK = Network(**SMALL, marks=2, radii=(0.5,), rims=True, proposals=2, edges=True)


def clouds(*sizes, seed=0):
    torch.manual_seed(seed)
    return PointClouds.from_list([torch.randn(n, 2).double() for n in sizes])


def made(sampling=None, **options):
    torch.manual_seed(1)
    options = {"estimate": True, "empty": True, "proportions": True, "trust": True, **options}
    solver = Picard(4, 1e-4)
    return Completer(2, network=NETWORK, solver=solver, sampling=sampling, **options).double()


def test_some_points_do_not_depend_on_order_padding_or_batch():
    x = clouds(30, 12, 50)
    expected = some_points(x, 20)
    assert expected.lengths.tolist() == [20, 12, 20]
    for other in (shuffled(x, 3)[0], widened(x, 9), x):
        found = some_points(other, 20)
        for a, b in zip(found.to_list(), expected.to_list(), strict=True):
            assert sorted(a.tolist()) == sorted(b.tolist())
    alone = some_points(PointClouds.from_list([x.to_list()[2]]), 20).to_list()[0]
    assert sorted(alone.tolist()) == sorted(expected.to_list()[2].tolist())


def test_a_model_encodes_what_it_reads_and_sees_the_others():
    x = clouds(60)
    model = made(Sampling(reads=20))
    f = model.encode(x)
    assert f.context.edges.shape == (1, 20)
    read = model.read(x)
    assert relative_gap(f.context.peak, model.encode(read, x).context.peak) < 1e-12
    assert relative_gap(f.context.peak, model.encode(read, read).context.peak) > 1e-6


def test_groups_give_every_cloud_its_number_whatever_stands_beside_it():
    model = made(Sampling(group=4, candidates=2, solved=9))
    parts = [c.numpy() for c in clouds(30, 20, 40).to_list()]
    counts = torch.tensor([7, 0, 30])
    together = model.new_points(parts, 3, counts)
    assert [len(new) for new in together] == [7, 0, 30]
    for i, new in enumerate(together):
        (alone,) = model.new_points(parts[i : i + 1], 3, counts[i : i + 1])
        np.testing.assert_allclose(new, alone, atol=1e-9)


def test_the_surest_of_each_cell_is_taken():
    model = made(Sampling(group=6, candidates=3))
    x = clouds(40)
    few = model.fill(x, torch.tensor([6]), 0)[0]
    model.sampling = Sampling(group=6, candidates=1)
    plain, every = (model.fill(x, torch.tensor([n]), 0)[0] for n in (6, 18))
    rows = [int((every.points - point).norm(dim=1).argmin()) for point in few.points]
    assert len(set(rows)) == len(rows) == 6
    assert float(few.distances.mean()) <= float(plain.distances.mean()) + 1e-12


def test_all_at_once_is_one_solve():
    model, x = made(), clouds(25)
    filled = model.fill(x, torch.tensor([9]), 5)[0]
    expected = model.points(model.latent(x, 5, torch.tensor([9]))[0]).points[0]
    assert torch.equal(filled.points, expected.detach())


def test_frames_follow_the_points_that_are_kept():
    model = made(Sampling(group=4, candidates=2))
    result = complete_cloud(clouds(30).to_list()[0].numpy(), model, count=6, watch=True)
    assert {len(frame) for frame in result.frames} == {6}
    np.testing.assert_allclose(result.frames[-1], result.new, atol=1e-12)
    assert len(result.residuals) == len(result.spread) == len(result.frames)


def test_new_points_between_solved_ones_have_their_confidence():
    model = made(Sampling(group=4, solved=8))
    result = complete_cloud(clouds(30).to_list()[0].numpy(), model, count=100)
    assert result.new.shape == (100, 2)
    assert result.confidence.shape == (100,)
    assert set(result.confidence[8:]) <= set(result.confidence[:8])
    assert ((result.confidence >= 0) & (result.confidence <= 1)).all()


def test_confidence_falls_with_the_expected_distance():
    sure = Sampling(error=0.5).confidence(torch.tensor([0.01, 0.1, 1.0]))
    assert float(sure[1]) == pytest.approx(0.5)
    assert float(sure[0]) > 0.99
    assert float(sure[2]) < 0.01
    wide = Sampling(error=5.0).confidence(torch.tensor([0.01]))
    assert 0.5 < float(wide) < float(sure[0])


def test_a_cloud_unlike_the_training_data_is_told():
    cloud = clouds(30).to_list()[0].numpy()
    for limit, unlike in ((0.0, True), (1.0, False), (None, None)):
        result = complete_cloud(cloud, made(Sampling(unfamiliar=limit)), count=5)
        assert result.unlike is unlike
    assert complete_cloud(cloud, made(trust=False), count=5).confidence is None


def test_a_doubt_costs_little():
    head = MissingShare(4, 0.5).double()
    with torch.no_grad():
        for p in head.parameters():
            p.zero_()
        mean = torch.zeros(1, 4).double()
        for logit, expected in ((-1.0, 0.0), (1.0, 0.25), (2.0, 0.5), (9.0, 0.5)):
            head.mlp.outer.bias[0] = logit
            assert float(head.share(mean, mean, sure=2.0)) == pytest.approx(expected)
            assert float(head.share(mean, mean)) == pytest.approx(0.5 if logit > 0 else 0.0)


def test_a_saved_model_has_the_same_settings(tmp_path):
    model = made(Sampling(20, 8, 3, 40, 1.5, 0.3, 0.6))
    model.save_pretrained(tmp_path)
    again = Completer.from_pretrained(tmp_path)
    assert again.sampling == model.sampling
    cloud = clouds(30).to_list()[0].numpy()
    np.testing.assert_array_equal(again.new_points([cloud])[0], model.new_points([cloud])[0])


@pytest.mark.parametrize(
    "options", [{"reads": -1}, {"group": 1.5}, {"candidates": 0}, {"solved": 0}, {"error": 0.0}]
)
def test_bad_settings_are_refused(options):
    with pytest.raises(ValueError, match=f"sampling.{next(iter(options))}"):
        Sampling(**options)
