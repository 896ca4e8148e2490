/** The outputs that this worker has written: kept as files, served by byte ranges, removed when nobody needs them. */
import { once } from 'node:events';
import { open, readFile, rm, stat } from 'node:fs/promises';
import { crc32 } from 'node:zlib';
import grpc from '@grpc/grpc-js';

const CHUNK_BYTES = 1024 * 1024;

export class Outputs {
  /** By query, then by `stage.task.fence`: the files of each partition. */
  #queries = new Map();

  /** `files` has a list of paths for each partition. Returns the partitions as `RegisterMapOutput` takes them. */
  async keep(key, folder, files, rowsOf) {
    const partitions = [];
    for (const [reduce_partition, paths] of files.entries()) {
      const segments = [];
      let rows = 0;
      for (const path of paths) {
        segments.push({ bytes: (await stat(path)).size, crc32: crc32(await readFile(path)) });
        rows += rowsOf.get(path) ?? 0;
      }
      const bytes = segments.reduce((sum, segment) => sum + segment.bytes, 0);
      partitions.push({
        ...{ reduce_partition, bytes, rows, batches: paths.length, segments },
        ...{ stream_epoch: key.fence, committed_offset: bytes, finalized: true },
      });
    }
    const outputs = this.#queries.get(key.query_id) ?? new Map();
    this.#queries.set(key.query_id, outputs);
    outputs.set(nameOf(key), { folder, files, partitions, epoch: key.fence });
    return partitions;
  }

  /** The files of a partition that this worker has itself; null for any other. */
  filesOf(key, partition) {
    return this.#queries.get(key.query_id)?.get(nameOf(key))?.files[partition] ?? null;
  }

  get queries() {
    return [...this.#queries.keys()];
  }

  async drop(queryId, key) {
    const outputs = this.#queries.get(queryId);
    for (const [name, { folder }] of outputs ?? []) {
      if (key !== undefined && name !== nameOf(key)) continue;
      outputs.delete(name);
      await rm(folder, { recursive: true, force: true });
    }
    if (outputs?.size === 0) this.#queries.delete(queryId);
  }

  /** The implementation of ShuffleService. */
  service(isAllowed) {
    return {
      RegisterMapOutput: (call, answer) =>
        answer(refusal(grpc.status.FAILED_PRECONDITION, 'Register an output with the leader.')),
      FetchShufflePartition: (call) => {
        if (!isAllowed(call.metadata)) {
          call.emit(
            'error',
            refusal(grpc.status.UNAUTHENTICATED, 'The token is not that of the cluster.'),
          );
          return;
        }
        this.#send(call).catch((error) => call.emit('error', error));
      },
    };
  }

  async #send(call) {
    const { request } = call;
    const { query_id, stage_id, map_task: task_id, fence, reduce_partition } = request;
    const output = this.#queries.get(query_id)?.get(nameOf({ stage_id, task_id, fence }));
    const partition = output?.partitions[reduce_partition];
    if (partition === undefined) {
      const words = 'map output not registered for requested attempt';
      throw refusal(grpc.status.FAILED_PRECONDITION, words);
    }
    const isOther = request.layout_version > 1 || request.min_stream_epoch > output.epoch;
    if (isOther) throw refusal(grpc.status.FAILED_PRECONDITION, 'This output is another one.');
    const words = {
      watermark_offset: partition.bytes,
      finalized: true,
      stream_epoch: output.epoch,
    };
    const start = Math.min(request.start_offset, partition.bytes);
    const end =
      request.max_bytes === 0
        ? partition.bytes
        : Math.min(partition.bytes, start + request.max_bytes);
    if (start >= end)
      call.write({ payload: Buffer.alloc(0), start_offset: start, end_offset: start, ...words });
    for await (const [start_offset, payload] of pieces(
      output.files[reduce_partition],
      partition.segments,
      start,
      end,
    )) {
      const isTaken = call.write({
        payload,
        start_offset,
        end_offset: start_offset + payload.length,
        ...words,
      });
      if (!isTaken) await once(call, 'drain');
      if (call.cancelled) return;
    }
    call.end();
  }
}

/** The bytes of the files from `start` to `end`, taken as one long file. */
async function* pieces(files, segments, start, end) {
  let before = 0;
  for (const [at, path] of files.entries()) {
    const { bytes } = segments[at];
    const file = await open(path, 'r');
    try {
      for (let from = Math.max(start, before); from < Math.min(end, before + bytes);) {
        const wanted = Math.min(CHUNK_BYTES, Math.min(end, before + bytes) - from);
        const { buffer, bytesRead } = await file.read(
          Buffer.alloc(wanted),
          0,
          wanted,
          from - before,
        );
        if (bytesRead === 0) throw refusal(grpc.status.DATA_LOSS, `${path} is too short.`);
        yield [from, buffer.subarray(0, bytesRead)];
        from += bytesRead;
      }
    } finally {
      await file.close();
    }
    before += bytes;
  }
}

function nameOf({ stage_id, task_id, fence }) {
  return `${stage_id}.${task_id}.${fence}`;
}

function refusal(code, details) {
  return Object.assign(new Error(details), { code, details });
}
