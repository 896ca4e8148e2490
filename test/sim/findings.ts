/** What the checkers found: the rule that was broken, and how. */
export interface Finding {
  readonly rule: string;
  readonly what: string;
}

export class Findings {
  readonly list: Finding[] = [];

  add(rule: string, what: string): void {
    this.list.push({ rule, what });
  }

  get isEmpty(): boolean {
    return this.list.length === 0;
  }
}
