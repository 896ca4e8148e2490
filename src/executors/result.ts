/** What a handler returns, as the text that is sent: JSON or a clear refusal. */
export type JsonText =
  | { readonly isJson: true; readonly text: string }
  | { readonly isJson: false; readonly fault: string };

/** `undefined` is null, as in `return;`. Anything else that JSON cannot hold would be lost silently. */
export function jsonText(value: unknown): JsonText {
  if (value === undefined) return { isJson: true, text: 'null' };
  try {
    const text = JSON.stringify(value) as string | undefined;
    if (text !== undefined) return { isJson: true, text };
    return { isJson: false, fault: `is a ${typeof value}, which is not JSON` };
  } catch (error) {
    return { isJson: false, fault: `is not JSON: ${reason(error)}` };
  }
}

/** The first sentence: engines draw the way of a cycle below it. */
function reason(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return message.split('\n', 1)[0] ?? message;
}
