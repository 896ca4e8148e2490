import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';

/** Whether a function is compiled after its first call, before and after `compileEarly`. */
const PROGRAM = `
  const { compileEarly } = await import(${JSON.stringify(new URL('./compile-early.ts', import.meta.url).href)});
  const isCompiled = () => {
    const once = new Function('a', 'return a + 1');
    once(1);
    return new Function('f', 'return %ActiveTierIsSparkplug(f)')(once);
  };
  const before = isCompiled();
  compileEarly();
  console.log(JSON.stringify([before, isCompiled()]));
`;

test('a function is compiled when it is first called', () => {
  const flags = ['--allow-natives-syntax', '--import', 'tsx', '--input-type=module'];
  const said = execFileSync(process.execPath, [...flags, '-e', PROGRAM], { encoding: 'utf8' });
  expect(JSON.parse(said)).toEqual([false, true]);
});
