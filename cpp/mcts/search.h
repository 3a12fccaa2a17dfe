// One search: a tree, its root position, a budget. It asks for evaluations instead of making them: `next` walks until a
// leaf needs one, `finish` brings it. So the same search serves one position with a native evaluator and a thousand
// games with a network.
#pragma once

#include <array>
#include <chrono>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include "games/game.h"
#include "mcts/gumbel.h"
#include "mcts/oracle.h"
#include "mcts/params.h"
#include "mcts/proof.h"
#include "mcts/selection.h"
#include "mcts/tree.h"

namespace qizero {

// What an evaluator says of a position, from its mover's side; `actions` by falling prior, all legal ones.
struct Evaluation {
  float win, draw, loss;
  std::span<const ScoredAction> actions;
};

enum class StopReason : std::uint8_t { none, simulations, milliseconds, proven, decided, memory, cancelled };

constexpr std::string_view stop_reason_name(StopReason reason) {
  constexpr std::string_view names[] = {"none",    "simulations", "milliseconds", "proven",
                                        "decided", "memory",      "cancelled"};
  return names[static_cast<int>(reason)];
}

// How the simulations of a search ended. Only `evaluated` ones cost an evaluation.
struct SearchCounters {
  std::int64_t simulations = 0;
  std::int64_t evaluated = 0;   // leaves whose evaluation came from outside (network, cache or native)
  std::int64_t known = 0;       // ended at a finished game or a proven position: nothing to evaluate
  std::int64_t collisions = 0;  // walks given up because they met a leaf under evaluation

  SearchCounters& operator+=(const SearchCounters& other) {
    simulations += other.simulations;
    evaluated += other.evaluated;
    known += other.known;
    collisions += other.collisions;
    return *this;
  }
};

// One line of a search's result, from the mover's side.
struct ActionStatistics {
  Action action;
  std::int32_t visits;
  float prior;
  float value;             // mean, or exact if proven; not a number without a visit
  Outcome result;          // proven result; ongoing if none
  std::uint16_t distance;  // plies to the end after this action, if proven
};

template <Game G>
class Search {
 public:
  enum class Step { leaf, wait, again, done };

  // A position that waits for its evaluation, and the way to it.
  struct Leaf {
    G position;
    std::vector<std::int32_t> path;  // nodes from the root to the leaf
  };

  explicit Search(std::uint64_t seed = 0) : rng_(seed) {}

  void reseed(std::uint64_t seed) { rng_ = Rng(seed); }
  // A game drawn by a limit is backed up as this share of the game's limit_value. Self-play learns such draws by the
  // same share; a tree that saw them as plain draws would contradict what it taught. 0: plain draws, as in play.
  void set_limit_value_share(double share) { limit_value_share_ = share; }
  // Who knows exact results; must live as long as the search. Without it, nobody is asked.
  void set_oracles(Oracles<G>* oracles) { oracles_ = oracles; }
  Rng& rng() { return rng_; }

  // Forgets everything; the position becomes the root.
  void reset(const G& position) {
    assert(num_pending_ == 0);
    tree_.clear();
    root_position_ = position;
    tree_.add_node(position.to_move(), position.outcome());
    root_ready_ = false;
  }

  // The action is played: its subtree is kept, the rest of the tree is freed.
  void advance(Action action, bool keep_subtree = true) {
    G position = *root_position_;
    position.apply(action);
    if (keep_subtree) {
      for (const Edge& edge : std::as_const(tree_).edges(root)) {
        if (edge.action != action || edge.child == no_node) continue;
        // What an oracle proved has no tree below it.
        if (const Node& child = tree_.node(edge.child); child.known() && !child.expanded()) break;
        root_position_ = position;
        tree_.compact(edge.child);
        root_ready_ = false;
        return;
      }
    }
    reset(position);
  }

  const G& root_position() const { return *root_position_; }

  // Starts to think. The game at the root goes on. `params` must live until the search is done.
  void begin(const PreparedParams& params) {
    assert(num_pending_ == 0 && root_position_->outcome() == Outcome::ongoing);
    params_ = &params;
    if (params.values.gumbel)
      reset(G(*root_position_));  // halving counts visits from zero; the cache makes up for the loss
    counters_ = {};
    started_ = 0;
    stop_ = StopReason::none;
    if (root_ready_) {  // the same root again: without the noise of last time
      for (Edge& edge : tree_.edges(root)) edge.prior = raw_priors_[static_cast<std::size_t>(edge.action)];
      sort_inactive_edges();
    }
    root_ready_ = false;
    start_time_ = std::chrono::steady_clock::now();
    find_win_at_once(root, *root_position_);
    ask_about_root();
    walks_began_ = std::chrono::steady_clock::now();
    if (tree_.node(root).expanded()) prepare_root();
  }

  void cancel() { stop_ = StopReason::cancelled; }

  // Walks until a leaf needs an evaluation (`leaf`: see pending_leaf()), or the evaluations under way must come first
  // (`wait`), or the search is over (`done`). At most `max_pending` leaves are under way. `again`: `walks_at_once`
  // walks have met nothing but known ends; call again, after a look at whatever may cancel the search.
  static constexpr int walks_at_once = 256;
  Step next(int max_pending) {
    for (int walks = 0; walks < walks_at_once; ++walks) {
      if (num_pending_ >= max_pending) return Step::wait;
      if (root_ready_ ? should_stop() : stop_ != StopReason::none) return num_pending_ > 0 ? Step::wait : Step::done;
      if (!root_ready_ && num_pending_ > 0) return Step::wait;  // the root's own evaluation
      if (walk()) return Step::leaf;
      if (collided_) return Step::wait;
    }
    return Step::again;
  }

  // The leaf that `next` found last, and its number for `finish`.
  const Leaf& pending_leaf() const { return pending_[static_cast<std::size_t>(last_pending_)]; }
  int pending_number() const { return last_pending_; }
  const Leaf& pending_leaf(int number) const { return pending_[static_cast<std::size_t>(number)]; }

  void finish(int number, const Evaluation& evaluation) {
    Leaf& leaf = pending_[static_cast<std::size_t>(number)];
    const std::int32_t index = leaf.path.back();
    tree_.expand(index, evaluation.actions);
    const double value = sign_of(leaf.position.to_move()) * (evaluation.win - evaluation.loss);
    tree_.node(index).set_evaluation(value);
    ++counters_.evaluated;
    for (const std::int32_t step : leaf.path) --tree_.node(step).in_flight;
    back_up(leaf.path, value, evaluation.draw);
    release(number);
    if (index == root)
      prepare_root();
    else
      ++counters_.simulations;
  }

  // Gives up what is under way, e.g. after a cancelled evaluation. The tree stays valid.
  void abandon_pending() {
    for (int number = 0; number < static_cast<int>(pending_.size()); ++number) {
      if (!pending_busy_[static_cast<std::size_t>(number)]) continue;
      for (const std::int32_t step : pending_[static_cast<std::size_t>(number)].path) --tree_.node(step).in_flight;
      release(number);
    }
  }

  // ---- Results (any time; meaningful once the root is expanded or known) ----

  StopReason stop_reason() const { return stop_; }
  const SearchCounters& counters() const { return counters_; }
  const Node& root_node() const { return tree_.node(root); }
  std::int64_t tree_bytes() const { return tree_.bytes(); }
  std::size_t num_nodes() const { return tree_.num_nodes(); }

  // To the mover of the root: mean, or exact if proven.
  double root_value() const {
    const Node& node = tree_.node(root);
    if (node.known()) return value_for(node.result, node.to_move);
    return node.visits > 0 ? sign_of(node.to_move) * node.value_sum / node.visits : 0.0;
  }
  // Win, draw and loss of the mover; the sum is 1, win - loss is root_value().
  std::array<double, 3> root_wdl() const {
    const Node& node = tree_.node(root);
    const double value = root_value();
    const double draw = node.known()      ? (node.result == Outcome::draw ? 1.0 : 0.0)
                        : node.visits > 0 ? std::min(node.draw_sum / node.visits, 1.0 - std::abs(value))
                                          : 1.0;
    return {(1.0 - draw + value) / 2, draw, (1.0 - draw - value) / 2};
  }

  std::vector<ActionStatistics> statistics() const {
    std::vector<ActionStatistics> rows;
    const int player = tree_.node(root).to_move;
    for (const Edge& edge : tree_.edges(root)) {
      const float prior = raw_prior(edge);
      if (edge.child == no_node) {
        rows.push_back({edge.action, 0, prior, std::numeric_limits<float>::quiet_NaN(), Outcome::ongoing, 0});
        continue;
      }
      const Node& child = tree_.node(edge.child);
      const double value = child_value(child, player, 0.0, std::numeric_limits<double>::quiet_NaN());
      rows.push_back({edge.action, child.visits, prior, static_cast<float>(value), child.result, child.distance});
    }
    return rows;
  }

  std::vector<Action> visited_actions() const {
    std::vector<Action> actions;
    for (const Edge& edge : tree_.edges(root))
      if (edge.child != no_node) actions.push_back(edge.action);
    return actions;
  }

  // The search's answer, [num_actions]: shares of visits or the improved policy; a proven result overrides both.
  void write_policy(float* policy) const {
    std::fill_n(policy, root_position_->num_actions(), 0.0f);
    const Node& node = tree_.node(root);
    const auto edges = tree_.edges(root);
    if (node.known() || edges.empty()) {
      policy[best_action()] = 1.0f;
      return;
    }
    if (params_->values.gumbel || params_->values.improved_policy)
      write_improved_policy(policy);
    else
      write_visit_policy(policy);
  }

  // How far `policy` is from the root's priors: KL(policy || priors), in nats.
  double surprise(std::span<const float> policy) const {
    double sum = 0;
    for (const Edge& edge : tree_.edges(root)) {
      const double p = policy[static_cast<std::size_t>(edge.action)];
      if (p > 0) sum += p * std::log(p / std::max(raw_prior(edge), 1e-9f));
    }
    return std::max(sum, 0.0);
  }

  // The action that the search recommends. Quickest win, longest loss; otherwise most visits (PUCT) or the halving's
  // winner (Gumbel).
  Action best_action() const { return best_action_at(root); }

  // `temperature` 0: best_action(); otherwise drawn from write_policy() ^ (1 / temperature) among the actions that were
  // visited. The improved policy also has mass on actions that nobody looked at: it is a target to learn, but games
  // that play them label noise.
  Action choose_action(double temperature) {
    if (temperature <= 0 || tree_.node(root).known()) return best_action();
    std::vector<float> policy(static_cast<std::size_t>(root_position_->num_actions()));
    write_policy(policy.data());
    bool any_visited = false;
    for (const Edge& edge : tree_.edges(root)) {
      const bool visited = edge.child != no_node && tree_.node(edge.child).visits > 0;
      if (!visited) policy[static_cast<std::size_t>(edge.action)] = 0.0f;
      any_visited = any_visited || policy[static_cast<std::size_t>(edge.action)] > 0.0f;
    }
    if (!any_visited) return best_action();
    double total = 0;
    const float highest = *std::max_element(policy.begin(), policy.end());
    for (float& p : policy) total += p = p > 0 ? static_cast<float>(std::pow(p / highest, 1.0 / temperature)) : 0.0f;
    double ticket = rng_.uniform() * total;
    Action last = best_action();
    for (std::size_t action = 0; action < policy.size(); ++action) {
      if (policy[action] <= 0) continue;
      last = static_cast<Action>(action);
      if ((ticket -= policy[action]) < 0) break;
    }
    return last;
  }

  std::vector<Action> pv() const {
    std::vector<Action> actions;
    std::int32_t index = root;
    while (tree_.node(index).expanded() && tree_.node(index).num_active > 0) {
      const Action action = best_action_at(index);
      actions.push_back(action);
      std::int32_t child = no_node;
      for (const Edge& edge : tree_.edges(index))
        if (edge.action == action) child = edge.child;
      if (child == no_node) break;
      index = child;
    }
    return actions;
  }

 private:
  static constexpr std::int32_t root = 0;
  static constexpr std::int32_t max_visits = 1 << 30;  // what a tree counts to, however often it is searched again

  // One simulation. True: it stands at a leaf that needs an evaluation. False: it is finished, or has collided.
  bool walk() {
    collided_ = false;
    const int number = acquire();
    Leaf& leaf = pending_[static_cast<std::size_t>(number)];
    leaf.path.clear();
    leaf.position = *root_position_;
    std::int32_t index = root;
    for (;;) {
      leaf.path.push_back(index);
      if (is_soft_draw(leaf.position)) {
        if constexpr (HasLimitValue<G>) {
          const double value = limit_value_share_ * static_cast<double>(leaf.position.limit_value());
          back_up(leaf.path, value, 1.0 - std::abs(value));
        }
        ++counters_.simulations;
        ++counters_.known;
        ++started_;
        release(number);
        return false;
      }
      find_win_at_once(index, leaf.position);
      ask_about_leaf(index, leaf.position);
      const Node& node = tree_.node(index);
      if (node.known()) {
        back_up(leaf.path, 0, 0);  // it takes the node's result
        ++counters_.simulations;
        ++counters_.known;
        ++started_;
        release(number);
        return false;
      }
      if (!node.expanded()) {
        if (node.in_flight > 0) {
          collided_ = true;
          ++counters_.collisions;
          if (params_->values.gumbel) gumbel_.take_back();
          release(number);
          return false;
        }
        for (const std::int32_t step : leaf.path) ++tree_.node(step).in_flight;
        if (index != root) ++started_;
        last_pending_ = number;
        return true;
      }
      const int position = select(index);
      const Edge edge = tree_.edges(index)[static_cast<std::size_t>(position)];
      leaf.position.apply(edge.action);
      // The node of a soft draw has no proven result: its value is not that of a draw.
      const Outcome outcome = is_soft_draw(leaf.position) ? Outcome::ongoing : leaf.position.outcome();
      index = edge.child != no_node ? edge.child : tree_.activate(index, position, leaf.position.to_move(), outcome);
    }
  }

  bool is_soft_draw(const G& position) const {
    if constexpr (HasLimitValue<G>) return limit_value_share_ > 0 && position.outcome() == Outcome::draw;
    return false;
  }

  // A position whose mover can win with one action is not evaluated: it is won. So a search never chooses an action
  // that loses at once when there is another, wins in one are always the quickest, and no evaluation is spent on
  // either.
  void find_win_at_once(std::int32_t index, const G& position) {
    const Node& node = tree_.node(index);
    if (!params_->values.solver || node.known() || node.expanded() || node.in_flight > 0) return;
    const int action = winning_action(position);
    if (action < 0) return;
    settle(index, position, {win_of(position.to_move()), 1, static_cast<Action>(action)});
  }

  // The same for what the game's oracle can prove.
  void ask_about_leaf(std::int32_t index, const G& position) {
    const Node& node = tree_.node(index);
    const SearchParams& values = params_->values;
    if (values.oracle_effort <= 0 || oracles_ == nullptr || !values.solver) return;
    if (index == root || node.known() || node.expanded() || node.in_flight > 0) return;
    if (const auto verdict = oracles_->about_leaf(position, values.oracle_effort)) settle(index, position, *verdict);
  }
  void ask_about_root() {
    const SearchParams& values = params_->values;
    if (values.oracle_root_effort <= 0 || oracles_ == nullptr || !values.solver) return;
    // A root that was known as a leaf has one action, any that keeps its result; with more nodes there may be a better.
    const Node& node = tree_.node(root);
    if (node.known() && (node.distance <= 1 || node.num_edges != 1)) return;
    // An oracle's own budget for the root takes less than 50 ms.
    const double effort = values.milliseconds > 0 ? std::min(values.oracle_root_effort, values.milliseconds / 200)
                                                  : values.oracle_root_effort;
    const auto verdict = oracles_->about_root(*root_position_, effort);
    if (!verdict) return;
    reset(G(*root_position_));
    settle(root, *root_position_, *verdict);
  }

  // The node becomes known by its one action that matters.
  void settle(std::int32_t index, const G& position, const Verdict& verdict) {
    const ScoredAction only{verdict.action, pack_prior(1.0f)};
    tree_.expand(index, {&only, 1});
    G next = position;
    next.apply(verdict.action);
    const std::int32_t child = tree_.activate(index, 0, next.to_move(), verdict.outcome);
    tree_.node(child).set_result(verdict.outcome, verdict.distance - 1);
    learn_from_children(tree_, index);
  }

  int select(std::int32_t index) {
    if (index == root) {
      if (params_->values.gumbel) return gumbel_.select(tree_, root, *params_);
      if (params_->values.selection == Selection::puct)
        return selection::puct(tree_, root, *params_, params_->values.root_fpu_reduction);
    }
    switch (params_->values.selection) {
      case Selection::puct:
        return selection::puct(tree_, index, *params_, params_->values.fpu_reduction);
      case Selection::improved_policy:
        return selection::improved_policy(tree_, index, *params_);
      case Selection::uct:
        return selection::uct(tree_, index, *params_);
    }
    return 0;
  }

  // Adds a simulation's result to every node of its path, from the leaf up; on the way it turns into what is known
  // better.
  void back_up(const std::vector<std::int32_t>& path, double value_of_player0, double draw) {
    bool news = params_->values.solver && tree_.node(path.back()).known();
    for (std::size_t i = path.size(); i-- > 0;) {
      if (news && i + 1 < path.size()) news = learn_from_children(tree_, path[i]);
      Node& node = tree_.node(path[i]);
      if (node.known()) {
        value_of_player0 = value_for_player0(node.result);
        draw = node.result == Outcome::draw ? 1.0 : 0.0;
      } else if (node.safe != 0 && i + 1 < path.size()) {
        // A side that has a draw would not play what looks worse.
        const double below = child_value(tree_.node(path[i + 1]), 0, 0.0, 0.0);
        if ((node.safe_for(0) && below < 0) || (node.safe_for(1) && below > 0)) {
          value_of_player0 = 0;
          draw = 1;
        }
      }
      ++node.visits;
      node.value_sum += value_of_player0;
      node.draw_sum += draw;
    }
  }

  // Once per search, as soon as the root has its priors: Gumbel samples or noise.
  void prepare_root() {
    root_ready_ = true;
    raw_priors_.assign(static_cast<std::size_t>(root_position_->num_actions()), 0);
    for (const Edge& edge : tree_.edges(root)) raw_priors_[static_cast<std::size_t>(edge.action)] = edge.prior;
    const SearchParams& values = params_->values;
    if (tree_.node(root).known()) return;
    if (values.gumbel)
      gumbel_.begin(tree_, root, values, root_position_->num_actions(), rng_);
    else if (values.noise_epsilon > 0 || values.root_policy_temperature != 1.0)
      add_noise();
  }

  void sort_inactive_edges() {
    const auto inactive = tree_.edges(root).subspan(tree_.node(root).num_active);
    std::stable_sort(inactive.begin(), inactive.end(), [](const Edge& a, const Edge& b) { return a.prior > b.prior; });
  }

  void add_noise() {
    const SearchParams& values = params_->values;
    const auto edges = tree_.edges(root);
    std::vector<double> priors;
    double total = 0;
    for (const Edge& edge : edges) {
      priors.push_back(std::pow(static_cast<double>(unpack_prior(edge.prior)), 1.0 / values.root_policy_temperature));
      total += priors.back();
    }
    std::vector<double> noise(priors.size(), 0.0);
    double noise_total = 0;
    if (values.noise_epsilon > 0)
      for (double& n : noise) noise_total += n = rng_.gamma(values.noise_alpha / static_cast<double>(priors.size()));
    for (std::size_t i = 0; i < priors.size(); ++i) {
      const double drawn = noise_total > 0 ? noise[i] / noise_total : 1.0 / static_cast<double>(priors.size());
      const double prior =
          (1.0 - values.noise_epsilon) * priors[i] / std::max(total, 1e-300) + values.noise_epsilon * drawn;
      edges[i].prior = pack_prior(static_cast<float>(prior));
    }
    sort_inactive_edges();
  }

  bool should_stop() {
    if (stop_ != StopReason::none) return true;
    if (params_->values.solver && tree_.node(root).known()) {
      stop_ = StopReason::proven;
    } else if ((params_->values.simulations > 0 && started_ >= params_->values.simulations) ||
               tree_.node(root).visits >= max_visits) {
      stop_ = StopReason::simulations;
    } else if (params_->values.early_stop && (started_ & 7) == 0 && leader_is_safe()) {
      stop_ = StopReason::decided;
    } else if (params_->values.milliseconds > 0 && elapsed_milliseconds() >= params_->values.milliseconds) {
      stop_ = StopReason::milliseconds;
    } else if (!tree_.make_room(2, static_cast<std::size_t>(num_pending_ + 1) * G::max_legal,
                                params_->values.max_tree_bytes)) {
      stop_ = StopReason::memory;  // there may be no room for a leaf, a win behind it, and all that is under way
    }
    return stop_ != StopReason::none;
  }

  double elapsed_milliseconds() const {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start_time_).count();
  }

  bool leader_is_safe() const {
    const Node& node = tree_.node(root);
    if (node.num_edges == 1) return true;
    if (params_->values.gumbel || params_->values.lcb > 0 || node.safe != 0) return false;
    int first = 0, second = 0;
    const auto edges = tree_.edges(root);
    for (int i = 0; i < node.num_active; ++i) {
      const Node& child = tree_.node(edges[static_cast<std::size_t>(i)].child);
      if (is_known_loss(child, node.to_move)) continue;  // never chosen, however many visits it has
      if (child.visits > first) {
        second = first;
        first = child.visits;
      } else {
        second = std::max(second, child.visits);
      }
    }
    return first - second > simulations_left();
  }

  // An upper limit of the simulations still to come; under a time limit, at the speed so far and half as fast again.
  double simulations_left() const {
    const SearchParams& values = params_->values;
    double left = std::numeric_limits<double>::infinity();
    if (values.simulations > 0) left = static_cast<double>(values.simulations - counters_.simulations);
    if (values.milliseconds > 0 && counters_.simulations >= 32) {
      const std::chrono::duration<double, std::milli> walking = std::chrono::steady_clock::now() - walks_began_;
      const double per_millisecond = static_cast<double>(counters_.simulations) / std::max(walking.count(), 1e-3);
      left = std::min(left, 1.5 * per_millisecond * std::max(values.milliseconds - elapsed_milliseconds(), 0.0));
    }
    return left;
  }

  // The value of a child that visits make likely at least, for the node's mover.
  double lower_bound(const Node& child, int player) const {
    const double value = child_value(child, player, 0.0, -1.0);
    const double error = std::sqrt(std::max(1 - value * value, 0.05) / std::max(child.visits, 1));
    return child.known() ? value : value - params_->values.lcb * error;
  }

  // Most visits first; known results override: the quickest win, never a loss unless all lose, then the longest.
  Action best_action_at(std::int32_t index) const {
    const Node& node = tree_.node(index);
    const auto edges = tree_.edges(index);
    if (edges.empty()) return root_position_->legal_actions()[0];
    if (index == root && params_->values.gumbel && root_ready_ && !node.known()) {
      const Edge& winner = edges[static_cast<std::size_t>(gumbel_.best(tree_, root, params_->values))];
      if (winner.child == no_node || !is_known_loss(tree_.node(winner.child), node.to_move)) return winner.action;
    }
    // (class, first key, second key): won, visited, unvisited, lost
    const std::vector<double> visits = preferred_visits(index);
    const bool by_bound = index == root && params_->values.lcb > 0;
    const double enough = 0.1 * *std::max_element(visits.begin(), visits.end());
    const auto rank = [&](std::size_t i) -> std::array<double, 3> {
      if (edges[i].child == no_node) return {1, unpack_prior(edges[i].prior), 0};
      const Node& child = tree_.node(edges[i].child);
      if (is_known_loss(child, node.to_move)) return {0, static_cast<double>(child.distance), 0};
      if (child.known() && child.result != Outcome::draw) return {3, -static_cast<double>(child.distance), 0};
      if (node.known() && !child.known()) return {1, -1, 0};  // a proven draw is one by a known draw
      if (by_bound) return {2, visits[i] >= enough ? lower_bound(child, node.to_move) : -1e9, visits[i]};
      return {2, visits[i], child_value(child, node.to_move, 0.0, -1.0)};
    };
    std::size_t best = 0;
    for (std::size_t i = 1; i < edges.size(); ++i)
      if (rank(i) > rank(best)) best = i;
    return edges[best].action;
  }

  // Visits by edge, as far as they speak for an action: none for known losses; and where the mover has a draw, those of
  // actions that look worse have shown that the draw is better, so they count for it.
  std::vector<double> preferred_visits(std::int32_t index) const {
    const Node& node = tree_.node(index);
    const auto edges = tree_.edges(index);
    std::vector<double> visits(edges.size(), 0.0);
    double for_the_draw = 0;
    int draw = -1;
    for (int i = 0; i < node.num_active; ++i) {
      const Node& child = tree_.node(edges[static_cast<std::size_t>(i)].child);
      const bool child_is_safe = child.safe_for(node.to_move);
      if (child_is_safe && (draw < 0 || child.visits > tree_.node(edges[static_cast<std::size_t>(draw)].child).visits))
        draw = i;
      if (node.safe_for(node.to_move) && !child_is_safe && child_value(child, node.to_move, 0.0, 0.0) <= 0)
        for_the_draw += child.visits;
      else if (!is_known_loss(child, node.to_move))
        visits[static_cast<std::size_t>(i)] = child.visits;
    }
    if (draw >= 0) visits[static_cast<std::size_t>(draw)] += for_the_draw;
    return visits;
  }

  float raw_prior(const Edge& edge) const {
    return unpack_prior(root_ready_ ? raw_priors_[static_cast<std::size_t>(edge.action)] : edge.prior);
  }

  void write_visit_policy(float* policy) const {
    const auto edges = tree_.edges(root);
    const std::vector<double> visits = preferred_visits(root);
    const double total = std::accumulate(visits.begin(), visits.end(), 0.0);
    if (total <= 0) {
      policy[best_action()] = 1.0f;
      return;
    }
    for (std::size_t i = 0; i < edges.size(); ++i) policy[edges[i].action] = static_cast<float>(visits[i] / total);
  }

  void write_improved_policy(float* policy) const {
    const Node& node = tree_.node(root);
    const auto completed = CompletedQ::of(tree_, root, params_->values);
    double highest = -1e300, total = 0;
    // A root that is not known has an action that is not a known loss; known losses get no mass.
    const auto lost = [&](const Edge& edge) {
      return edge.child != no_node && is_known_loss(tree_.node(edge.child), node.to_move);
    };
    for (const Edge& edge : tree_.edges(root)) {
      if (lost(edge)) continue;
      const float prior = raw_prior(edge);
      const double q = edge.child == no_node
                           ? completed.mixed_value
                           : child_value(tree_.node(edge.child), node.to_move, 0.0, completed.mixed_value);
      const double logit =
          std::log(std::max(prior, 1e-9f)) / params_->values.root_policy_temperature + completed.scale * q;
      policy[edge.action] = static_cast<float>(logit);
      highest = std::max(highest, logit);
    }
    for (const Edge& edge : tree_.edges(root))
      if (!lost(edge)) total += std::exp(policy[edge.action] - highest);
    for (const Edge& edge : tree_.edges(root))
      if (!lost(edge)) policy[edge.action] = static_cast<float>(std::exp(policy[edge.action] - highest) / total);
  }

  int acquire() {
    ++num_pending_;
    for (std::size_t number = 0; number < pending_.size(); ++number)
      if (!pending_busy_[number]) {
        pending_busy_[number] = true;
        return static_cast<int>(number);
      }
    pending_.push_back({*root_position_, {}});
    pending_busy_.push_back(true);
    return static_cast<int>(pending_.size()) - 1;
  }
  void release(int number) {
    pending_busy_[static_cast<std::size_t>(number)] = false;
    --num_pending_;
  }

  Tree tree_;
  std::optional<G> root_position_;
  Rng rng_;
  double limit_value_share_ = 0.0;
  Oracles<G>* oracles_ = nullptr;
  const PreparedParams* params_ = nullptr;
  GumbelRoot gumbel_;
  std::vector<PackedPrior> raw_priors_;  // of the root by action, before noise
  bool root_ready_ = false;              // the root has its priors, and they have been prepared
  bool collided_ = false;
  int started_ = 0;  // simulations begun, those under way included
  StopReason stop_ = StopReason::none;
  SearchCounters counters_;
  std::chrono::steady_clock::time_point start_time_, walks_began_;

  std::vector<Leaf> pending_;
  std::vector<char> pending_busy_;
  int num_pending_ = 0, last_pending_ = 0;
};

}  // namespace qizero
