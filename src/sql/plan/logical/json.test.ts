import { describe, expect, test } from 'vitest';
import { parseJson } from './json.ts';
import { PlanNode } from './plan-node.ts';
import { Undistributable } from './undistributable.ts';

describe('JSON without loss', () => {
  test('a number stays as it is written', () => {
    const node = PlanNode.parse('[18446744073709551615, -0.0, 1e300, NaN, -Infinity]', 'p');
    expect(node.list().map((item) => item.number())).toEqual([
      ...['18446744073709551615', '-0.0', '1e300', 'NaN', '-Infinity'],
    ]);
    expect(node.list()[0]?.integer()).toBe(2n ** 64n - 1n);
  });

  test('text, lists, objects and words are read, with spaces anywhere', () => {
    const node = PlanNode.parse(
      ' { "a b" : [ true , false , null , "\\u0000\\"\\\\\\n" ] , "" : { } , "e" : [ ] } ',
      'p',
    );
    const [yes, no, nothing, text] = node.at('a b').list();
    expect([yes?.bool(), no?.bool(), nothing?.isNull, text?.text()]).toEqual([
      ...[true, false, true, '\0"\\\n'],
    ]);
    expect(node.at('').at('x').isThere).toBe(false);
    expect(node.at('e').list()).toEqual([]);
  });

  test.each(['', '{', '[1,]', '{"a"}', '{"a":1,}', '1 2', '"a', 'nul', '01', "{'a':1}", '"\\x"'])(
    'anything else is refused: %s',
    (text) => {
      expect(() => parseJson(text)).toThrow(Undistributable);
    },
  );

  test('nesting has an end', () => {
    const deep = '['.repeat(100_000);
    expect(() => parseJson(deep)).toThrow('nested too deeply');
  });

  test('a long text does not exhaust the stack', () => {
    const long = 'a\\n'.repeat(1_000_000);
    expect(PlanNode.parse(`"${long}"`, 'p').text()).toHaveLength(2_000_000);
  });
});

describe('a value of another kind than asked for is refused with its place', () => {
  const node = PlanNode.parse('{"n": 1.5, "t": "x", "big": 9007199254740993, "minus": -1}', 'plan');
  test.each([
    [() => node.at('n').text(), 'there is no text at plan.n'],
    [() => node.at('t').bool(), 'there is no boolean at plan.t'],
    [() => node.at('t').list(), 'there is no list at plan.t'],
    [() => node.at('t').number(), 'there is no number at plan.t'],
    [() => node.at('n').integer(), 'there is no integer at plan.n'],
    [() => node.at('big').index(), 'there is no small number at plan.big'],
    [() => node.at('minus').index(), 'there is no small number at plan.minus'],
    [() => node.at('t').at('x'), 'there is no fields at plan.t'],
    [() => node.at('gone').text(), 'there is no text at plan.gone'],
  ])('%s', (ask, message) => {
    expect(ask).toThrow(message);
  });
});
