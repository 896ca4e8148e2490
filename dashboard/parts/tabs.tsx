import type { JSX } from 'preact';
import { link, route } from '../route.ts';

export interface TabsProps {
  readonly tabs: readonly {
    readonly id: string;
    readonly title: string;
    readonly count?: string;
  }[];
  readonly selected: string;
  readonly label: string;
  /** Goes along to the next tab. */
  readonly query?: Readonly<Record<string, string>>;
}

/** Tabs are part of the URL, so that a link leads to one. */
export function Tabs({ tabs, selected, label, query = {} }: TabsProps): JSX.Element {
  const { path } = route.value;
  return (
    <nav class="tabs" aria-label={label}>
      {tabs.map(({ id, title, count }, at) => (
        <a
          key={id}
          href={link(path, at === 0 ? query : { tab: id, ...query })}
          aria-current={id === selected ? 'page' : undefined}
        >
          {title}
          {count !== undefined && <span class="tab-count">{count}</span>}
        </a>
      ))}
    </nav>
  );
}
