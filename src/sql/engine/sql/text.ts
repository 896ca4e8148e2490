import { quotedText } from '../../plan/index.ts';

export function textList(texts: readonly string[]): string {
  return `[${texts.map(quotedText).join(', ')}]`;
}
