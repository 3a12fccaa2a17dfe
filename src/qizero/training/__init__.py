"""A training run: settings, self-play, replay, learner, checkpoints, ratings."""
