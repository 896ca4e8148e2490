/**
 * The text that comments are cut from: sentences of the grammar in the public TPC-H specification (4.2.2.14). A comment
 * is a piece of it that starts and ends anywhere, so it compresses and searches as the comments of dbgen do.
 */

type Weighted = readonly (readonly [word: string, weight: number])[];

/** `word*weight`, comma-separated; a weight of 1 is left out. */
function weighted(list: string): Weighted {
  return list
    .split(',')
    .map((entry) => entry.trim().split('*'))
    .map(([word = '', weight = '1']) => [word, Number(weight)]);
}

const NOUNS =
  weighted(`packages*40, requests*40, accounts*40, deposits*40, foxes*20, ideas*20, theodolites*20,
  pinto beans*20, instructions*20, dependencies*10, excuses*10, platelets*10, asymptotes*10, courts*5, dolphins*5,
  multipliers, sauternes, warthogs, frets, dinos, attainments, somas, Tiresias, patterns, forges, braids,
  hockey players, frays, warhorses, dugouts, notornis, epitaphs, pearls, tithes, waters, orbits, gifts, sheaves,
  depths, sentiments, decoys, realms, pains, grouches, escapades`);
const VERBS =
  weighted(`sleep*20, wake*20, are*20, cajole*20, haggle*20, nag*10, use*10, boost*10, affix*5, detect*5,
  integrate*5, maintain, nod, was, lose, sublate, solve, thrash, promise, engage, hinder, print, x-ray, breach, eat,
  grow, impress, mold, poach, serve, run, dazzle, snooze, doze, unwind, kindle, play, hang, believe, doubt`);
const ADJECTIVES =
  weighted(`regular*50, final*40, ironic*40, even*30, special*20, pending*20, unusual*20, express*20,
  bold*20, silent*10, furious, sly, careful, blithe, quick, fluffy, slow, quiet, ruthless, thin, close, dogged, daring,
  brave, stealthy, permanent, enticing, idle, busy`);
const ADVERBS =
  weighted(`furiously*50, slyly*50, carefully*50, blithely*40, quickly*30, fluffily*20, sometimes, always,
  never, slowly, quietly, ruthlessly, thinly, closely, doggedly, daringly, bravely, stealthily, permanently,
  enticingly, idly, busily, regularly, finally, ironically, evenly, boldly, silently`);
const PREPOSITIONS =
  weighted(`about*50, above*50, according to*50, across*50, after*50, against*40, along*40,
  alongside of*30, among*30, around*20, at*10, atop, before, behind, beneath, beside, besides, between, beyond, by,
  despite, during, except, for, from, in place of, inside, instead of, into, near, of, on, outside, over, past, since,
  through, throughout, to, toward, under, until, up, upon, without, with, within`);
const AUXILIARIES =
  weighted(`do, may, might, shall, will, would, can, could, should, ought to, must, will have to,
  shall have to, could have to, should have to, must have to, need to, try to`);
const TERMINATORS = weighted('.*50, ;, :, ?, !, --');

/** A piece is longer than the longest comment, so that comments start at different places of it. */
export const PIECE_LENGTH = 256;

/** So many pieces of text, always the same ones. */
export function textPieces(count: number): readonly string[] {
  const speaker = new Speaker();
  const pieces: string[] = [];
  let text = '';
  while (pieces.length < count) {
    while (text.length < PIECE_LENGTH) text += `${text === '' ? '' : ' '}${speaker.sentence()}`;
    pieces.push(text.slice(0, PIECE_LENGTH));
    text = text.slice(PIECE_LENGTH);
  }
  return pieces;
}

class Speaker {
  #state = 0x9e37_79b9;

  sentence(): string {
    const [noun, verb] = [this.#nounPhrase(), this.#verbPhrase()];
    const end = this.#word(TERMINATORS);
    switch (this.#below(5)) {
      case 0:
        return `${noun} ${verb}${end}`;
      case 1:
        return `${noun} ${verb} ${this.#prepositional()}${end}`;
      case 2:
        return `${noun} ${verb} ${this.#nounPhrase()}${end}`;
      case 3:
        return `${noun} ${this.#prepositional()} ${verb} ${this.#nounPhrase()}${end}`;
      default:
        return `${noun} ${this.#prepositional()} ${verb} ${this.#prepositional()}${end}`;
    }
  }

  #nounPhrase(): string {
    const noun = this.#word(NOUNS);
    switch (this.#below(4)) {
      case 0:
        return noun;
      case 1:
        return `${this.#word(ADJECTIVES)} ${noun}`;
      case 2:
        return `${this.#word(ADJECTIVES)}, ${this.#word(ADJECTIVES)} ${noun}`;
      default:
        return `${this.#word(ADVERBS)} ${this.#word(ADJECTIVES)} ${noun}`;
    }
  }

  #verbPhrase(): string {
    const verb = this.#word(VERBS);
    switch (this.#below(4)) {
      case 0:
        return verb;
      case 1:
        return `${this.#word(AUXILIARIES)} ${verb}`;
      case 2:
        return `${verb} ${this.#word(ADVERBS)}`;
      default:
        return `${this.#word(AUXILIARIES)} ${verb} ${this.#word(ADVERBS)}`;
    }
  }

  #prepositional(): string {
    return `${this.#word(PREPOSITIONS)} the ${this.#nounPhrase()}`;
  }

  #word(words: Weighted): string {
    let at = this.#below(words.reduce((sum, [, weight]) => sum + weight, 0));
    for (const [word, weight] of words) {
      if (at < weight) return word;
      at -= weight;
    }
    return '';
  }

  /** A number below `limit`, by xorshift. */
  #below(limit: number): number {
    this.#state ^= this.#state << 13;
    this.#state ^= this.#state >>> 17;
    this.#state ^= this.#state << 5;
    return (this.#state >>> 0) % limit;
  }
}
