/** Light, dark, or whatever the system says. */
import { effect, signal } from '@preact/signals';

const KEY = 'millrace.theme';
const THEMES = ['system', 'light', 'dark'] as const;
type Theme = (typeof THEMES)[number];

const stored = localStorage.getItem(KEY);
export const theme = signal<Theme>(THEMES.find((each) => each === stored) ?? 'system');

export function nextTheme(): void {
  theme.value = THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length] ?? 'system';
}

export function watchTheme(): void {
  effect(() => {
    document.documentElement.dataset['theme'] = theme.value;
    localStorage.setItem(KEY, theme.value);
  });
}
