/** The actions on a task that its state and the caller's role allow. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import type { JobShape, TaskShape } from '../../../src/scheduler/contract/index.ts';
import { post } from '../../api/call.ts';
import { may } from '../../api/cluster-status.ts';
import { Confirm } from '../../parts/dialog.tsx';
import { plural } from '../../words.ts';
import { Fork } from './fork.tsx';
import { belowOf } from './groups.ts';

type Asked = 'redrive' | 'fork' | null;

export function TaskActions({
  job,
  task,
}: {
  readonly job: JobShape;
  readonly task: TaskShape;
}): JSX.Element | null {
  const asked = useSignal<Asked>(null);
  if (!may('submit')) return null;
  const close = (): void => {
    asked.value = null;
  };
  const isDead = task.state === 'failed' && task.error?.code === 'dead';
  const isOver = job.finishedAt !== null;
  if (!isDead && !isOver) return null;
  return (
    <div class="actions">
      {isDead && (
        <button type="button" onClick={() => (asked.value = 'redrive')}>
          Redrive
        </button>
      )}
      {isOver && (
        <button type="button" onClick={() => (asked.value = 'fork')}>
          Fork from here
        </button>
      )}
      {asked.value === 'redrive' && <Redrive job={job} task={task} close={close} />}
      {asked.value === 'fork' && <Fork job={job} task={task} close={close} />}
    </div>
  );
}

interface Props {
  readonly job: JobShape;
  readonly task: TaskShape;
  readonly close: () => void;
}

function Redrive({ job, task, close }: Props): JSX.Element {
  const skipped = belowOf(job, task.id).filter(({ state }) => state === 'skipped');
  return (
    <Confirm
      title={`Redrive ${task.id}`}
      action="Redrive"
      onClose={close}
      run={async () => {
        await post(
          `jobs/${encodeURIComponent(job.id)}/tasks/${encodeURIComponent(task.id)}/redrive`,
        );
        return `${task.id} runs again.`;
      }}
    >
      <p>
        {task.id} starts a new run with all its attempts
        {skipped.length > 0 && (
          <>
            , and so {plural(skipped.length, 'task')} that {skipped.length === 1 ? 'was' : 'were'}{' '}
            skipped because of it
          </>
        )}
        . Tasks that succeeded keep their results.
      </p>
    </Confirm>
  );
}
