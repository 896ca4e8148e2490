/** The terminal that people look at, as the view needs it. */
export interface Terminal {
  readonly columns: number;
  readonly rows: number;
  readonly hasColour: boolean;
  readonly isUnicode: boolean;
  write(text: string): void;
  /** Until the returned function is called. */
  onResize(react: () => void): () => void;
}

/** Null without a terminal, or with one that cannot move its cursor. */
export function terminalOn(
  stream: NodeJS.WriteStream,
  environment: NodeJS.ProcessEnv,
): Terminal | null {
  if (!stream.isTTY || environment['TERM'] === 'dumb') return null;
  return {
    get columns() {
      return stream.columns > 0 ? stream.columns : 80;
    },
    get rows() {
      return stream.rows > 0 ? stream.rows : 24;
    },
    hasColour: (environment['NO_COLOR'] ?? '') === '',
    isUnicode: speaksUnicode(environment),
    write: (text) => void stream.write(text),
    onResize(react) {
      stream.on('resize', react);
      return () => stream.off('resize', react);
    },
  };
}

function speaksUnicode(environment: NodeJS.ProcessEnv): boolean {
  if (process.platform === 'win32') return environment['WT_SESSION'] !== undefined;
  const words = [environment['LC_ALL'], environment['LC_CTYPE'], environment['LANG']];
  const locale = words.find((word) => word !== undefined && word !== '') ?? '';
  return /utf-?8/i.test(locale);
}
