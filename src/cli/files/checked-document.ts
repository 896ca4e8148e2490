/** Documents are checked here before anything is sent, so that a mistake is reported with its line. */
import {
  isMillraceError,
  type JobDocument,
  parseJobDocument,
  type Settings,
  TASKS_PER_JOB_LIMIT,
} from '../../scheduler/core/index.ts';
import type { FileValue } from './document-file.ts';

/** How much is too much is for the server to say: its limits may have been raised. */
function withoutLimits(settings: Settings): Settings {
  return {
    ...settings,
    documentBytesMax: Number.MAX_SAFE_INTEGER,
    inputBytesMax: Number.MAX_SAFE_INTEGER,
    tasksPerJobMax: TASKS_PER_JOB_LIMIT,
  };
}

/** Throws with the place in the file. `path` leads to the document within the value. */
export function checkDocument(
  file: FileValue,
  settings: Settings,
  document: unknown = file.value,
  path = '',
): JobDocument {
  try {
    return parseJobDocument(document, withoutLimits(settings), path);
  } catch (error) {
    throw file.located(error);
  }
}

/** Also tells what the server found, with its place in the file. */
export async function withPlaces<T>(
  file: Pick<FileValue, 'located'>,
  send: () => Promise<T>,
): Promise<T> {
  try {
    return await send();
  } catch (error) {
    // Without a path it is not about the document.
    throw isMillraceError(error) && error.path !== undefined ? file.located(error) : error;
  }
}
