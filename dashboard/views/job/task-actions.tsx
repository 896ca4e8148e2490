/** What can be done about one task. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import type { JobShape, TaskShape } from '../../../src/scheduler/contract/index.ts';
import { post } from '../../api/call.ts';
import { may } from '../../api/cluster-status.ts';
import { Confirm } from '../../parts/dialog.tsx';
import { go, link } from '../../route.ts';
import { plural } from '../../words.ts';

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

function Fork({ job, task, close }: Props): JSX.Element {
  const again = [task, ...belowOf(job, task.id)];
  const ids = new Set(again.map(({ id }) => id));
  const kept = job.tasks.filter(({ id, state }) => !ids.has(id) && state === 'succeeded');
  const fresh = crypto.randomUUID === undefined ? null : crypto.randomUUID();
  return (
    <Confirm
      title={`Fork from ${task.id}`}
      action="Create the job"
      onClose={close}
      run={async () => {
        // The id makes a call whose answer was lost harmless to repeat.
        const headers = fresh === null ? {} : { 'millrace-job-id': fresh };
        const { id } = await post<{ id: string }>(
          `jobs/${encodeURIComponent(job.id)}/fork`,
          { from: task.id },
          headers,
        );
        go(link(['jobs', id]));
        return 'The new job is here.';
      }}
    >
      <p>
        A new job takes over {plural(kept.length, 'result')} and runs {plural(again.length, 'task')}{' '}
        again. This job stays as it is.
      </p>
      <p class="muted wrap">
        Again:{' '}
        {again
          .slice(0, 12)
          .map(({ id }) => id)
          .join(', ')}
        {again.length > 12 && ' …'}
      </p>
    </Confirm>
  );
}

/** Everything that depends on a task, however far down. */
function belowOf(job: JobShape, task: string): readonly JobShape['tasks'][number][] {
  const below = new Set([task]);
  for (let size = 0; size < below.size;) {
    size = below.size;
    for (const { id, dependsOn } of job.tasks)
      if (dependsOn.some((each) => below.has(each))) below.add(id);
  }
  below.delete(task);
  return job.tasks.filter(({ id }) => below.has(id));
}
