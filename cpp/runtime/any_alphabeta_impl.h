// The one implementation of AnyAlphaBeta, templated on game and board. Included by the instantiation units only.
#pragma once

#include "runtime/any_alphabeta.h"
#include "runtime/any_game_impl.h"

namespace qizero {

template <Game G, SearchBoard<G> Board>
class AlphaBetaImpl final : public AnyAlphaBeta {
 public:
  AlphaBetaImpl(std::shared_ptr<const AnyGame> game, int table_megabytes)
      : game_(std::move(game)), search_(table_megabytes) {}

  void begin(const AnyState& state, const AlphaBetaLimits& limits, std::shared_ptr<const CancelToken> cancel) override {
    const auto* typed = dynamic_cast<const StateImpl<G>*>(&state);
    if (typed == nullptr || typed->position().options() != game_->options())
      throw InvalidInput("this searches " + game_->spec() + ", but the state is of " + state.game()->spec());
    if (typed->outcome() != Outcome::ongoing) throw InvalidInput("the game is over: there is nothing to search");
    cancel_ = std::move(cancel);
    search_.begin(typed->position(), limits, cancel_.get());
  }
  bool deepen() override { return search_.deepen(); }
  const AlphaBetaResult& result() const override { return search_.result(); }
  std::string_view evaluation() const override { return Board::name; }
  int score_scale() const override { return Board::score_scale; }

 private:
  std::shared_ptr<const AnyGame> game_;
  std::shared_ptr<const CancelToken> cancel_;
  AlphaBeta<G, Board> search_;
};

template <Game G>
std::unique_ptr<AnyAlphaBeta> GameImpl<G>::new_alphabeta(std::string_view evaluation, int table_megabytes) const {
  std::unique_ptr<AnyAlphaBeta> search;
  std::string names;
  const auto offer = [&]<class Board>(const Board*) {
    names += (names.empty() ? "" : ", ") + std::string(Board::name);
    if (!search && (evaluation.empty() || evaluation == Board::name))
      search = std::make_unique<AlphaBetaImpl<G, Board>>(self(), table_megabytes);
  };
  [&]<class... Board>(const std::tuple<Board...>*) {
    (offer(static_cast<const Board*>(nullptr)), ...);
  }(static_cast<const typename Boards<G>::type*>(nullptr));
  if (!search) throw InvalidInput(spec() + " has no evaluation '" + std::string(evaluation) + "'; there are " + names);
  return search;
}

}  // namespace qizero
