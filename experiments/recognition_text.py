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

A cloud is drawn as pictures of 64 by 64 cells on its three coordinate planes: the density of its
points, and its front and back as seen from either side. One residual network of convolutions reads
all three; the cells of its last level are the tokens that ten latent particles attend to, and the
head reads maximum and mean of the particles at equilibrium. SimpleView (Goyal et al., 2021) showed
how much such pictures tell. 9,548 training shapes, up to 1,024 points of each, mirrored, stretched,
turned about z, thinned, jittered, some with stray points; label smoothing 0.2; in training a linear
head on the summary of `X` is taught beside the equilibrium, with weight 0.5, and left behind. `ddeq
train modelnet40-classification`, cosine schedule, running average of the weights; the epoch is
that of the best held-out accuracy. The paper's network is `ddeq train
paper-modelnet40-classification`.
"""

OTHERS = """
Vertices: `ddeq train modelnet40-s-classification`, shapes as they stand; these weights are not
shipped. In the paper, on 77 more shapes, DDEQ has 78.2, Point Transformer 79.2 %.

Digits: the shipped classifier, `ddeq train mnist-classification`. Published: PointNet 99.2,
PointNet++ and PointCNN 99.5 %; in the paper, at unit variance, DDEQ 98.1, Point Transformer 98.6 %.
"""
