import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { once } from 'node:events';
import { expect, onTestFinished, test } from 'vitest';
import { peerOwners, type Peer } from './peer-owner.ts';

const HEAD =
  '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode';
const line = (local: string, remote: string, user: number, inode: number, state = '01'): string =>
  `   0: ${local} ${remote} ${state} 00000000:00000000 00:00000000 00000000 ${user} 0 ${inode} 1 00`;

/** 127.0.0.1:40000 is connected to 127.0.0.1:7070. */
const peer = (): Peer => ({
  connection: {},
  remoteAddress: '127.0.0.1',
  remotePort: 40_000,
  localAddress: '127.0.0.1',
  localPort: 7070,
});
const THEIRS = '0100007F:9C40';
const OURS = '0100007F:1B9E';

function listed(...lines: readonly string[]): (path: string) => Promise<string> {
  return async (path) => (path.endsWith('6') ? '' : [HEAD, ...lines, ''].join('\n'));
}

test('finds the user who opened the other end, not the owner of this one', async () => {
  const read = listed(line(OURS, THEIRS, 1, 11), line(THEIRS, OURS, 1000, 12));
  expect(await peerOwners(read)(peer())).toBe(1000);
});

test.each([
  ['a socket that its process has closed', [line(THEIRS, OURS, 0, 0, '05')]],
  ['a connection to another address of this machine', [line(THEIRS, '0200007F:1B9E', 1000, 12)]],
  ['a connection to another port', [line(THEIRS, '0100007F:1B9F', 1000, 12)]],
  ['a connection from another address', [line('0200007F:9C40', OURS, 1000, 12)]],
  ['a list that is empty', []],
])('tells nothing of %s', async (_what, lines) => {
  expect(await peerOwners(listed(...lines))(peer())).toBeNull();
});

test('returns nothing on a system without /proc/net', async () => {
  const read = () => Promise.reject(new Error('ENOENT'));
  expect(await peerOwners(read)(peer())).toBeNull();
});

test('finds an IPv6 socket, also one that is connected to an IPv4 address', async () => {
  const mapped = '0000000000000000FFFF00000100007F';
  const six = '00000000000000000000000001000000';
  const read = async (path: string): Promise<string> =>
    path.endsWith('6')
      ? [
          line(`${mapped}:9C40`, `${mapped}:1B9E`, 1001, 5),
          line(`${six}:9C41`, `${six}:1B9E`, 1002, 6),
        ].join('\n')
      : HEAD;
  expect(await peerOwners(read)(peer())).toBe(1001);
  const ends = { remoteAddress: '::1', remotePort: 40_001, localAddress: '::1' };
  expect(await peerOwners(read)({ ...peer(), ...ends })).toBe(1002);
});

test('reads the list again when the kernel left the connection out', async () => {
  const lists = [HEAD, `${HEAD}\n${line(THEIRS, OURS, 1000, 12)}`];
  let at = 0;
  const read = async (path: string): Promise<string> =>
    path.endsWith('6') ? '' : (lists[at++] ?? '');
  expect(await peerOwners(read)(peer())).toBe(1000);
});

test('reads the lists once for a connection, and once for all that are new together', async () => {
  let reads = 0;
  const read = async (path: string): Promise<string> => {
    if (!path.endsWith('6')) reads += 1;
    return line(THEIRS, OURS, 1000, 12);
  };
  const ownerOf = peerOwners(read);
  const [one, two, three] = [peer(), peer(), peer()];
  await Promise.all([one, two, one].map(async (each) => ownerOf(each)));
  expect(reads).toBe(1);
  // What is known needs no promise.
  expect([one, two].map(ownerOf)).toEqual([1000, 1000]);
  expect(reads).toBe(1);
  await ownerOf(three);
  expect(reads).toBe(2);
});

test.runIf(process.platform === 'linux')('finds this very user on a real connection', async () => {
  const accepted = new Promise<Socket>((resolve) => {
    const server = createServer(resolve).listen(0, '127.0.0.1', () => {
      const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
      onTestFinished(() => void client.destroy());
    });
    onTestFinished(() => void server.close());
  });
  const socket = await accepted;
  onTestFinished(() => void socket.destroy());
  const { remoteAddress, remotePort, localAddress, localPort } = socket;
  const ends = { remoteAddress, remotePort, localAddress, localPort };
  expect(await peerOwners()({ connection: socket, ...ends })).toBe(process.geteuid?.());
  const gone = connect(localPort ?? 0, '127.0.0.1');
  await once(gone, 'connect');
  const { localPort: left } = gone;
  gone.destroy();
  await once(gone, 'close');
  expect(await peerOwners()({ connection: gone, ...ends, remotePort: left })).toBeNull();
});
