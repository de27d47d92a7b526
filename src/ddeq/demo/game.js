// "Half a digit: what was it?": a person guesses, then the network completes and guesses too.

import * as api from "/api.js";
import { best } from "/classes.js";

export const ASK = "Half a digit: what was it?";

// A digit of a class, and the numbers of the points that are not in the half.
export async function half(answer) {
  const { points } = await api.call("sample", { kind: "digit", class: answer });
  return { points, ...await api.call("cut", { points, cut: "half" }) };
}

export class Game {
  constructor() {
    this.rounds = this.you = this.network = 0;
    this.stop();
  }

  // A half of a digit is on the stage, and this is what it was.
  begin(answer) {
    this.answer = answer;
    this.guess = null;
  }

  stop() {
    this.answer = this.guess = null;
  }

  get waiting() {  // for the person
    return this.answer !== null && this.guess === null;
  }

  // What the network made of the half counts when the person has said what they think.
  score(classes) {
    const said = best(classes), { answer, guess } = this;
    this.rounds += 1;
    this.you += Number(guess === answer);
    this.network += Number(said === answer);
    const turn = guess === answer && said === answer ? "Both of you saw it."
      : guess === answer ? `You saw it; the network took it for a ${said}.`
      : said === answer ? "The network saw it." : `The network took it for a ${said}.`;
    this.stop();
    return `It was a ${answer}. ${turn} You ${this.you}, network ${this.network} of ${this.rounds}.`;
  }
}
