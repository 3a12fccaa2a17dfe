// Wins by force: by fours only (VCF), whose answers are forced, and by fours and open threes (VCT).
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "alphabeta/gomoku_board.h"

namespace qizero {

class GomokuThreats {
 public:
  // Plies in which the mover wins by fours, 0 if that was not found among `nodes` positions. The win need not be the
  // fastest. `line`, if given, is the way to it.
  int win_by_fours(GomokuBoard& board, int nodes, std::vector<Action>* line = nullptr) {
    begin(nodes);
    return fours(board, max_plies, line);
  }

  // The same with open threes as well, at most `most_plies` long. Not for black in renju, whose threes white can also
  // answer from afar, by making a point of black's a foul.
  int win_by_threats(GomokuBoard& board, int nodes, int most_plies, std::vector<Action>* line = nullptr) {
    if (board.rule() == Gomoku::renju && board.to_move() == 0) return 0;
    begin(nodes);
    for (int plies = std::min(5, most_plies);; plies = std::min(plies + 4, most_plies)) {  // short wins first
      const int found = threats(board, plies, line);
      if (found > 0 || plies == most_plies || nodes_left_ <= 0) return found;
    }
  }

  // Asked now and then; once it says so, nothing more is found. nullptr: never.
  void set_stop(const std::function<bool()>* stop) { stop_ = stop; }

  std::int64_t nodes() const { return nodes_; }  // positions looked at since this was made

  // Points at which the mover can answer when the opponent would otherwise make an open four: those that take a cell of
  // it, and own fours.
  static PointSet answers_to_three(const GomokuBoard& board) {
    const int mover = board.to_move(), opponent = 1 - mover;
    PointSet answers;
    for (const int player : {mover, opponent})
      for (const PointPattern pattern : {PointPattern::open_four, PointPattern::four_three, PointPattern::four})
        answers |= board.points(player, pattern);
    return answers;
  }

 private:
  static constexpr int max_plies = 61;
  static constexpr std::uint64_t fours_salt = 0x5643'46, threats_salt = 0x5643'54;

  // What is found depends on the position and the number of nodes alone, so nothing is remembered from before.
  void begin(int nodes) {
    nodes_left_ = nodes;
    ++search_;
  }

  static int first_allowed(const GomokuBoard& board, int player, PointPattern pattern) {
    int found = -1;
    board.points(player, pattern).for_each([&](int point) {
      if (found < 0 && board.is_allowed(player, point)) found = point;
    });
    return found;
  }

  // Wins at once, or by an open four while the opponent has no five: 1, 3, or 0 if neither. `must` is set to the point
  // where the mover has to stop a five, -1 if there is none; -2: there are two, nothing helps.
  static int quick_win(const GomokuBoard& board, int& must, std::vector<Action>* line) {
    const int mover = board.to_move(), opponent = 1 - mover;
    must = -1;
    if (const int point = board.points(mover, PointPattern::five).first(); point >= 0) {
      if (line != nullptr) line->assign(1, static_cast<Action>(point));
      return 1;
    }
    const PointSet& fives = board.points(opponent, PointPattern::five);
    if (!fives.empty()) {
      must = fives.size() > 1 ? -2 : fives.first();
      if (must >= 0 && !board.is_allowed(mover, must)) must = -2;
      return 0;
    }
    if (const int point = first_allowed(board, mover, PointPattern::open_four); point >= 0) {
      if (line != nullptr) line->assign(1, static_cast<Action>(point));
      return 3;
    }
    return 0;
  }

  // The mover plays a four at `point`; the opponent's one answer is played too, then `go_on()` tells the plies to the
  // win from there.
  template <class GoOn>
  int four_and_answer(GomokuBoard& board, int point, std::vector<Action>* line, GoOn&& go_on) {
    const int attacker = board.to_move();
    board.play(point);
    int plies = 0;
    if (board.outcome() == Outcome::ongoing && !board.has(1 - attacker, PointPattern::five)) {
      const PointSet& fives = board.points(attacker, PointPattern::five);
      const int answer = fives.first();
      if (answer >= 0) {
        if (fives.size() > 1 || !board.is_allowed(1 - attacker, answer)) {
          plies = 3;
          if (line != nullptr) line->assign(1, static_cast<Action>(point));
        } else {
          board.play(answer);
          if (board.outcome() == Outcome::ongoing) plies = go_on();
          board.undo();
          if (plies > 0) {
            plies += 2;
            if (line != nullptr) line->insert(line->begin(), {static_cast<Action>(point), static_cast<Action>(answer)});
          }
        }
      }
    }
    board.undo();
    return plies;
  }

  int fours(GomokuBoard& board, int most_plies, std::vector<Action>* line) {
    ++nodes_;
    if (--nodes_left_ <= 0) return 0;
    if ((nodes_ & 0xff) == 0 && stop_ != nullptr && (*stop_)()) nodes_left_ = 0;
    int must = -1;
    if (const int plies = quick_win(board, must, line); plies > 0) return plies <= most_plies ? plies : 0;
    if (must == -2 || most_plies < 5) return 0;
    const int mover = board.to_move();
    if (must >= 0) {
      if (board.pattern(mover, must) < PointPattern::four) return 0;
      return four_and_answer(board, must, line, [&] { return fours(board, most_plies - 2, line); });
    }
    if (!board.has(mover, PointPattern::four) && !board.has(mover, PointPattern::four_three)) return 0;
    if (failed(board.hash(), fours_salt, most_plies)) return 0;
    for (const PointPattern pattern : {PointPattern::four_three, PointPattern::four}) {
      int plies = 0;
      const PointSet points = board.points(mover, pattern);
      points.for_each([&](int point) {
        if (plies > 0 || nodes_left_ <= 0 || !board.is_allowed(mover, point)) return;
        plies = four_and_answer(board, point, line, [&] { return fours(board, most_plies - 2, line); });
      });
      if (plies > 0) return plies;
    }
    if (nodes_left_ > 0) remember_failure(board.hash(), fours_salt, most_plies);
    return 0;
  }

  int threats(GomokuBoard& board, int most_plies, std::vector<Action>* line) {
    if (nodes_left_ <= 0) return 0;
    if (const int plies = fours(board, most_plies, line); plies > 0) return plies;
    int must = -1;
    quick_win(board, must, nullptr);
    if (must == -2 || most_plies < 5 || nodes_left_ <= 0) return 0;
    const int mover = board.to_move();
    if (failed(board.hash(), threats_salt, most_plies)) return 0;

    // What must be answered: fours, and open threes unless the opponent's threes have to be answered first.
    PointSet attacks;
    if (must >= 0) {
      attacks.insert(must);
    } else {
      attacks = board.points(mover, PointPattern::four_three) | board.points(mover, PointPattern::four);
      if (!board.has(1 - mover, PointPattern::open_four))
        attacks |= board.points(mover, PointPattern::three_three) | board.points(mover, PointPattern::three);
    }
    int plies = 0;
    attacks.for_each([&](int point) {
      if (plies > 0 || nodes_left_ <= 0 || !board.is_allowed(mover, point)) return;
      if (board.pattern(mover, point) >= PointPattern::four)
        plies = four_and_answer(board, point, line, [&] { return threats(board, most_plies - 2, line); });
      else
        plies = three_and_answers(board, point, most_plies, line);
    });
    if (plies == 0 && nodes_left_ > 0) remember_failure(board.hash(), threats_salt, most_plies);
    return plies;
  }

  // An open three, or a stone that stops a five with one: every answer has to lose.
  int three_and_answers(GomokuBoard& board, int point, int most_plies, std::vector<Action>* line) {
    const int attacker = board.to_move(), defender = 1 - attacker;
    board.play(point);
    int longest = 0;
    std::vector<Action> longest_line;
    // It is a threat only if an open four really follows.
    if (board.outcome() == Outcome::ongoing && !board.has(defender, PointPattern::five) &&
        first_allowed(board, attacker, PointPattern::open_four) >= 0 &&
        first_allowed(board, defender, PointPattern::open_four) < 0) {
      bool all_lose = true;
      const PointSet answers = answers_to_three(board);
      answers.for_each([&](int answer) {
        if (!all_lose || !board.is_allowed(defender, answer)) return;
        std::vector<Action> rest;
        board.play(answer);
        const int plies = board.outcome() == Outcome::ongoing ? threats(board, most_plies - 2, &rest) : 0;
        board.undo();
        if (plies == 0) all_lose = false;
        if (plies > longest) {
          longest = plies;
          longest_line.assign(1, static_cast<Action>(answer));
          longest_line.insert(longest_line.end(), rest.begin(), rest.end());
        }
      });
      if (!all_lose) {
        longest = 0;
      } else if (longest == 0) {
        longest = 3;  // no answer is allowed: the open four follows
      }
    }
    board.undo();
    if (longest == 0) return 0;
    if (line != nullptr) {
      line->assign(1, static_cast<Action>(point));
      line->insert(line->end(), longest_line.begin(), longest_line.end());
    }
    return longest + 2;
  }

  // ---- Positions in which there was nothing, by hash; the newest replaces ----
  static constexpr std::size_t memory_size = 1 << 16;
  struct Failure {
    std::uint64_t hash = 0;
    std::uint64_t search = 0;
    int plies = 0;  // there is no win within this many
  };
  bool failed(std::uint64_t hash, std::uint64_t salt, int most_plies) const {
    const std::uint64_t key = hash_combine(hash, salt);
    const Failure& failure = failures_[key % memory_size];
    return failure.hash == key && failure.search == search_ && failure.plies >= most_plies;
  }
  // The place does not depend on the number of the search: which positions replace each other must not either.
  void remember_failure(std::uint64_t hash, std::uint64_t salt, int most_plies) {
    const std::uint64_t key = hash_combine(hash, salt);
    failures_[key % memory_size] = {key, search_, most_plies};
  }

  int nodes_left_ = 0;
  const std::function<bool()>* stop_ = nullptr;
  std::int64_t nodes_ = 0;
  std::uint64_t search_ = 0;
  std::vector<Failure> failures_ = std::vector<Failure>(memory_size);
};

}  // namespace qizero
