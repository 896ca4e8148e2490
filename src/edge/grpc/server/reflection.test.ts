/** Reflection as a stranger uses it: from nothing but the address to a call. */
import { createRequire } from 'node:module';
import { create, createFileRegistry, fromBinary, toBinary } from '@bufbuild/protobuf';
import type { DescMethod, DescService, Message } from '@bufbuild/protobuf';
import { FileDescriptorProtoSchema, FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import { Client, credentials } from '@grpc/grpc-js';
import type { MethodDefinition } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { expect, onTestFinished, test } from 'vitest';
import { wireNode } from '../../../../test/rig/wire-node.ts';
import { deferred } from '../../../kit/index.ts';

interface ReflectionAnswer {
  readonly listServicesResponse?: { readonly service: readonly { readonly name: string }[] };
  readonly fileDescriptorResponse?: { readonly fileDescriptorProto: readonly Buffer[] };
  readonly errorResponse?: { readonly errorCode: number };
}

const reflectionProto = createRequire(import.meta.url)
  .resolve('@grpc/reflection')
  .replace(/src[/\\]index\.js$/, 'proto/grpc/reflection/v1/reflection.proto');
const reflection = loadSync(reflectionProto)['grpc.reflection.v1.ServerReflection'];
const infoMethod = (
  reflection as unknown as Record<string, MethodDefinition<object, ReflectionAnswer>>
)['ServerReflectionInfo']!;

function clientTo(address: string): Client {
  const client = new Client(address, credentials.createInsecure());
  onTestFinished(() => client.close());
  return client;
}

async function reflect(client: Client, question: object): Promise<ReflectionAnswer> {
  const { path, requestSerialize, responseDeserialize } = infoMethod;
  const stream = client.makeBidiStreamRequest(path, requestSerialize, responseDeserialize);
  const answer = deferred<ReflectionAnswer>();
  stream.on('error', answer.reject);
  stream.on('data', answer.resolve);
  stream.write(question);
  const first = await answer.promise;
  stream.end();
  return first;
}

async function describedService(client: Client, name: string): Promise<DescService> {
  const { fileDescriptorResponse } = await reflect(client, { fileContainingSymbol: name });
  const file = (fileDescriptorResponse?.fileDescriptorProto ?? []).map((bytes) =>
    fromBinary(FileDescriptorProtoSchema, bytes),
  );
  const found = createFileRegistry(create(FileDescriptorSetSchema, { file })).getService(name);
  return found ?? expect.fail(`${name} is not described`);
}

async function callAs(
  client: Client,
  method: DescMethod,
  request: Record<string, unknown>,
): Promise<Message> {
  const answer = deferred<Message>();
  client.makeUnaryRequest(
    `/${method.parent.typeName}/${method.name}`,
    (value: Record<string, unknown>) =>
      Buffer.from(toBinary(method.input, create(method.input, value))),
    (bytes) => fromBinary(method.output, bytes),
    request,
    (failure, value) =>
      failure === null && value !== undefined ? answer.resolve(value) : answer.reject(failure),
  );
  return answer.promise;
}

test('reflection lists exactly the services of the server', async () => {
  const { address } = await wireNode();
  const { listServicesResponse } = await reflect(clientTo(address), { listServices: '*' });
  expect(listServicesResponse?.service.map(({ name }) => name).toSorted()).toEqual([
    'grpc.health.v1.Health',
    'millrace.v1.ControlPlane',
    'millrace.v1.HeartbeatService',
    'millrace.v1.ShuffleService',
  ]);
});

test('a method can be called by its description alone', async () => {
  const reasons: string[] = [];
  const { address } = await wireNode({
    jobs: {
      cancel: (id, reason) => {
        reasons.push(reason);
        return Promise.resolve({ jobId: id, state: 'cancelled', run: 7, changed: true });
      },
    },
  });
  const client = clientTo(address);
  const service = await describedService(client, 'millrace.v1.ControlPlane');
  const cancelJob = service.methods.find(({ name }) => name === 'CancelJob')!;
  const answer = await callAs(client, cancelJob, { jobId: 'j1', reason: 'enough' });
  expect(answer).toMatchObject({ job: { id: 'j1', state: 5, run: 7, changed: true } });
  expect(reasons).toEqual(['enough']);
});

test('health is described as well', async () => {
  const { address } = await wireNode();
  const client = clientTo(address);
  const service = await describedService(client, 'grpc.health.v1.Health');
  const check = service.methods.find(({ name }) => name === 'Check')!;
  expect(await callAs(client, check, { service: '' })).toMatchObject({ status: 2 });
});

test('unknown symbols are not found', async () => {
  const { address } = await wireNode();
  const answer = await reflect(clientTo(address), { fileContainingSymbol: 'millrace.v1.Nothing' });
  expect(answer.errorResponse?.errorCode).toBe(5);
});
