/** Rules between settings; rules within the core's own settings are in the core. */
import { checkedSettings, isMillraceError, type Settings } from '../../scheduler/core/index.ts';
import type { NodeSettings } from './node-settings.ts';
import type { SettingName } from './table.ts';

/** Room for what a message carries beside its largest part. */
const FRAME_BYTES = 64 * 1024;

/** The first relation that does not hold, and the settings that it is about. */
export function brokenRelation(
  core: Settings,
  node: NodeSettings,
): { readonly problem: string; readonly about: readonly SettingName[] } | undefined {
  return brokenCore(core) ?? brokenNode(core, node);
}

function brokenCore(core: Settings): ReturnType<typeof brokenRelation> {
  try {
    checkedSettings(core);
    return undefined;
  } catch (error) {
    if (!isMillraceError(error, 'bad_setting')) throw error;
    const names = Object.keys(core) as (keyof Settings)[];
    const words = new Set(error.what.split(/\W+/));
    return { problem: error.what, about: names.filter((name) => words.has(name)) };
  }
}

function brokenNode(core: Settings, node: NodeSettings): ReturnType<typeof brokenRelation> {
  const largest = core.documentBytesMax + FRAME_BYTES;
  for (const name of ['requestBytesMax', 'grpcMessageBytesMax'] as const) {
    if (node[name] >= largest) continue;
    const problem = `The setting ${name} is not valid: a document of documentBytesMax needs ${largest} bytes.`;
    return { problem, about: [name, 'documentBytesMax'] };
  }
  const { tlsCert, tlsKey } = node;
  if ((tlsCert === undefined) !== (tlsKey === undefined)) {
    const problem = 'The settings tlsCert and tlsKey must be set together; one of them is missing.';
    return { problem, about: ['tlsCert', 'tlsKey'] };
  }
  return undefined;
}
