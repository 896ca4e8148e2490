/** The SQL editor. A separate file, loaded with the first query. */
import { autocompletion, closeBrackets, completionKeymap } from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands';
import { SQLDialect, sql } from '@codemirror/lang-sql';
import { HighlightStyle, bracketMatching, syntaxHighlighting } from '@codemirror/language';
import { Compartment, EditorState, Prec } from '@codemirror/state';
import { EditorView, keymap, lineNumbers, placeholder } from '@codemirror/view';
import { tags } from '@lezer/highlight';

export interface SqlEditor {
  setText(text: string): void;
  setTables(tables: Readonly<Record<string, readonly string[]>>): void;
  focus(): void;
  destroy(): void;
}

export interface SqlEditorOptions {
  readonly text: string;
  readonly onText: (text: string) => void;
  readonly onRun: () => void;
}

const style = HighlightStyle.define([
  { tag: tags.keyword, color: 'var(--running)' },
  { tag: [tags.string, tags.special(tags.string)], color: 'var(--succeeded)' },
  { tag: [tags.number, tags.bool, tags.null], color: 'var(--delayed)' },
  { tag: tags.comment, color: 'var(--muted)', fontStyle: 'italic' },
]);

const theme = EditorView.theme({
  '&': {
    color: 'var(--ink)',
    backgroundColor: 'var(--page)',
    fontSize: '13px',
    minHeight: '140px',
    maxHeight: '45vh',
  },
  '.cm-scroller': { fontFamily: 'var(--mono)', lineHeight: '1.55', minHeight: '140px' },
  '.cm-content': { caretColor: 'var(--ink)', padding: '8px 0' },
  '.cm-cursor': { borderLeftColor: 'var(--ink)' },
  '.cm-gutters': { backgroundColor: 'var(--page)', color: 'var(--muted)', border: 'none' },
  '&.cm-focused': { outline: 'none' },
  '.cm-placeholder': { color: 'var(--muted)' },
  '.cm-selectionBackground, &.cm-focused .cm-selectionBackground': {
    backgroundColor: 'var(--running-soft) !important',
  },
  '.cm-tooltip': {
    backgroundColor: 'var(--surface)',
    border: '1px solid var(--line-strong)',
    color: 'var(--ink)',
  },
  '.cm-tooltip-autocomplete ul li[aria-selected]': {
    backgroundColor: 'var(--sunken)',
    color: 'var(--ink)',
  },
});

/** The words of a query as DuckDB reads it; statements that change something are not run here. */
const DuckDb = SQLDialect.define({
  keywords:
    'all and anti any array as asc asof between by case cast collate cross current desc describe distinct else end escape except exclude exists explain extract false filter first following from full glob group grouping having ilike in inner intersect interval is join lateral last left like limit natural not null nulls offset on or order outer over partition pivot positional preceding qualify range recursive replace right row rows sample select semi sets show similar some struct summarize symmetric table tables then to true try_cast unbounded union unnest unpivot using values when where window with within analyze',
  types:
    'bigint blob boolean char date decimal double float hugeint int integer json list map numeric real smallint text time timestamp timestamptz tinyint ubigint uinteger uuid varchar',
  doubleDollarQuotedStrings: true,
  operatorChars: '*+-%<>!=&|~^/@',
});

/** The columns of the only table whose columns are known are offered without its name before them. */
function language(tables: Readonly<Record<string, readonly string[]>>): ReturnType<typeof sql> {
  const [only, ...others] = Object.keys(tables).filter((name) => (tables[name] ?? []).length > 0);
  return sql({
    dialect: DuckDb,
    schema: tables,
    upperCaseKeywords: false,
    ...(only === undefined || others.length > 0 ? {} : { defaultTable: only }),
  });
}

/** In a shadow root the editor's styles are constructed sheets, which a policy without inline styles allows. */
export function createEditor(root: ShadowRoot, options: SqlEditorOptions): SqlEditor {
  const tables = new Compartment();
  const run = Prec.highest(
    keymap.of([
      {
        key: 'Mod-Enter',
        run: () => {
          options.onRun();
          return true;
        },
      },
    ]),
  );
  const view = new EditorView({
    parent: root,
    root,
    state: EditorState.create({
      doc: options.text,
      extensions: [
        run,
        lineNumbers(),
        history(),
        bracketMatching(),
        closeBrackets(),
        autocompletion({ icons: false }),
        syntaxHighlighting(style),
        theme,
        placeholder('select region, sum(amount) from orders group by region'),
        EditorView.contentAttributes.of({ 'aria-label': 'SQL' }),
        EditorView.lineWrapping,
        EditorView.updateListener.of((update) => {
          if (update.docChanged) options.onText(update.state.doc.toString());
        }),
        keymap.of([...completionKeymap, ...defaultKeymap, ...historyKeymap, indentWithTab]),
        tables.of(language({})),
      ],
    }),
  });
  return {
    setText: (text) =>
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } }),
    setTables: (known) => view.dispatch({ effects: tables.reconfigure(language(known)) }),
    focus: () => view.focus(),
    destroy: () => view.destroy(),
  };
}
