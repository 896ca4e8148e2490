/** A question before something is done, and the news of what became of it. */
import { signal, useSignal } from '@preact/signals';
import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { isElsewhere } from '../api/cluster-status.ts';
import { type Problem, asProblem } from '../api/problem.ts';
import { ProblemNote } from './marks.tsx';

export interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
  readonly isWide?: boolean;
}

export function Dialog({ title, onClose, children, isWide = false }: DialogProps): JSX.Element {
  const box = useRef<HTMLDialogElement>(null);
  useEffect(() => box.current?.showModal(), []);
  return (
    <dialog ref={box} class={isWide ? 'wide' : ''} onClose={onClose} aria-label={title}>
      <h2>{title}</h2>
      {children}
    </dialog>
  );
}

export interface ConfirmProps {
  readonly title: string;
  /** What will happen, before it does. */
  readonly children: ComponentChildren;
  readonly action: string;
  readonly isDanger?: boolean;
  readonly isDisabled?: boolean;
  readonly isWide?: boolean;
  readonly onClose: () => void;
  /** Returns what to say when it is done. */
  readonly run: () => Promise<string>;
}

export function Confirm(props: ConfirmProps): JSX.Element {
  const { title, children, action, isDanger = false, isDisabled = false, onClose } = props;
  const problem = useSignal<Problem | null>(null);
  const isBusy = useSignal(false);
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    if (isDisabled) return;
    [isBusy.value, problem.value] = [true, null];
    try {
      say(await props.run());
      onClose();
    } catch (error) {
      problem.value = asProblem(error);
    } finally {
      isBusy.value = false;
    }
  };
  return (
    <Dialog title={title} onClose={onClose} isWide={props.isWide ?? false}>
      <form onSubmit={(event) => void submit(event)}>
        <div class="dialog-body">{children}</div>
        {isElsewhere.value && problem.value === null && (
          <p class="muted">
            This node does not lead. If it refuses, you get a link to the one that does.
          </p>
        )}
        {problem.value !== null && <ProblemNote problem={problem.value} />}
        <div class="dialog-buttons">
          <button type="button" onClick={onClose}>
            Close
          </button>
          <button
            type="submit"
            class={isDanger ? 'danger' : 'primary'}
            disabled={isBusy.value || isDisabled}
          >
            {isBusy.value ? 'Working…' : action}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

const news = signal<{ readonly no: number; readonly text: string } | null>(null);
let no = 0;

export function say(text: string): void {
  no += 1;
  const mine = no;
  news.value = { no: mine, text };
  setTimeout(() => {
    if (news.peek()?.no === mine) news.value = null;
  }, 5_000);
}

export function News(): JSX.Element {
  return (
    <div class="news" role="status" aria-live="polite">
      {news.value !== null && <p key={news.value.no}>{news.value.text}</p>}
    </div>
  );
}
