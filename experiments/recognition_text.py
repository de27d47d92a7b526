"""What the page on recognition says around its figures; see ``recognition_page.py``."""

__all__ = ["HEAD", "MADE", "OTHERS", "USE"]

HEAD = """# Recognition: what does a cloud show, in any pose?

A user's file stands in any azimuth, and not every program has z point up. This page measures the
shipped `modelnet40` classifier as such a user meets it. It is written from
`results/recognition-modelnet40.json` by `experiments/recognition_page.py`; measure weights of your
own with

```bash
python experiments/recognition.py choose FOLDER --training 2500   # on training clouds only
python experiments/recognition.py measure FOLDER                  # on the test set, once
```
"""

USE = """
## At use

```bash
ddeq classify chair.ply              # probabilities; says when it is unlike the training data
ddeq classify chair.obj --up y       # the y axis points up
ddeq classify chair.ply --json       # with the fields "unlike_training_data" and "up"
```

`ddeq.classify(points)` gives the same, with the attributes `unlike` and `up`; the demo and
scikit-learn's estimator take the same path, `ddeq.inference.recognise`.

- **Azimuth.** A cloud is turned about z to its tightest footprint, so that it comes to stand in one
  of four ways; training turns clouds at random, so that the four are alike.
- **Probabilities** are $\\mathrm{softmax}(l / T)$, the temperature $T$ fitted on held-out training
  clouds. The calibration error is that of 15 bins.
- **Unlike the training data** is a cloud whose energy $-\\log \\sum_c e^{l_c}$ is above that of
  95 % of the held-out clouds.
- **Up axis.** `auto`, the default, reads a cloud with z and with y up and takes the reading that
  looks more upright, $w \\cdot c$ with the largest features $c$ of the encoded points. $w$ comes
  from a logistic regression on 2,500 training shapes, each upright and lying in two ways.

Temperature, threshold and whether `auto` is the default were chosen on held-out training clouds;
they lie in `config.json` beside the weights.
"""

MADE = """
## How the weights were made

The path of `X` has groups of 16 nearest neighbours at 512, 256, 128 and 64 farthest points; the
head reads maximum and mean of ten latent particles. 9,548 training shapes, 600 random points of
each, mirrored, stretched, turned about z and jittered; label smoothing 0.2; in training a linear
head on the summary of `X` is taught beside the equilibrium, with weight 0.5, and left behind. First
19 epochs at a learning rate of 1e-2 (`ddeq train modelnet40-classification -o runs/first`), then,
from those weights, a second run of 42 epochs at 7e-3 (`--init runs/first/model --learning-rate 7e-3
--epochs 42`), each with a cosine schedule and a running average of the weights, whose last state
is kept. Both computed the groups in bfloat16 while training, which the package does not; so a run
of yours will not be the same to the last digit. No epoch was chosen by the held-out clouds. The
paper's network is `ddeq train paper-modelnet40-classification`. Pictures of the cloud in place of
the groups, as the classifier of digits has them, cost a fifth at use; after 27 epochs, 45 minutes
of a core, they were not as good on the 295 held-out shapes, and were not shipped.
"""

OTHERS = """
Vertices: `ddeq train modelnet40-s-classification` with the network of `modelnet40` and `--init
modelnet40`, seven epochs in 37 minutes of a shared core, in bfloat16; these weights are not
shipped, and the recipe now reads pictures. In the paper DDEQ has 78.2, Point Transformer 79.2 %.

Digits: the shipped classifier, `ddeq train mnist-classification`. Published: PointNet 99.2,
PointNet++ and PointCNN 99.5 %; in the paper, at unit variance, DDEQ 98.1, Point Transformer 98.6 %.
"""
