/** A list of many rows of one height, of which only those that can be seen are in the page. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';

export interface VirtualListProps {
  readonly count: number;
  readonly rowHeight: number;
  readonly label: string;
  readonly class?: string;
  readonly header?: JSX.Element;
  readonly row: (at: number) => JSX.Element;
  /** The list scrolls to this row when it changes. */
  readonly reveal?: number | null;
  /** The list stays at its end while rows are added, unless somebody scrolls up. */
  readonly sticksToEnd?: boolean;
}

const MORE = 12;

export function VirtualList(props: VirtualListProps): JSX.Element {
  const { count, rowHeight, reveal = null, sticksToEnd = false } = props;
  const box = useRef<HTMLDivElement>(null);
  const view = useSignal({ top: 0, height: 600 });
  const isAtEnd = useRef(true);
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return;
    const look = (): void => {
      const { scrollTop: top, clientHeight: height, scrollHeight } = element;
      view.value = { top, height };
      isAtEnd.current = top + height > scrollHeight - 2 * rowHeight;
    };
    const observer = new ResizeObserver(look);
    observer.observe(element);
    element.addEventListener('scroll', look, { passive: true });
    look();
    return () => {
      observer.disconnect();
      element.removeEventListener('scroll', look);
    };
  }, []);
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null || reveal === null) return;
    const [top, bottom] = [reveal * rowHeight, (reveal + 2) * rowHeight];
    if (top < element.scrollTop || bottom > element.scrollTop + element.clientHeight) {
      element.scrollTop = Math.max(0, top - element.clientHeight / 3);
    }
  }, [reveal]);
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null || !sticksToEnd || !isAtEnd.current) return;
    element.scrollTop = element.scrollHeight;
  }, [count]);
  useLayoutEffect(() => {
    const element = box.current;
    if (element !== null && sticksToEnd) element.scrollTop = element.scrollHeight;
  }, [sticksToEnd]);
  const { top, height } = view.value;
  const first = Math.max(0, Math.floor(top / rowHeight) - MORE);
  const last = Math.min(count, Math.ceil((top + height) / rowHeight) + MORE);
  const rows: JSX.Element[] = [];
  for (let at = first; at < last; at += 1) rows.push(props.row(at));
  return (
    <div
      class={`virtual ${props.class ?? ''}`}
      ref={box}
      role="table"
      aria-label={props.label}
      aria-rowcount={count}
      style={{ '--content': `${count * rowHeight}px` }}
      tabIndex={0}
    >
      {props.header}
      <div class="virtual-space" style={{ height: `${count * rowHeight}px` }}>
        <div class="virtual-rows" style={{ transform: `translateY(${first * rowHeight}px)` }}>
          {rows}
        </div>
      </div>
    </div>
  );
}
