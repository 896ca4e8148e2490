/**
 * Finds the user of this machine at the other end of a connection. Each end of a loopback connection is a socket of
 * this machine, and /proc/net/tcp lists the user who opened it. On systems without that list, and for a socket that
 * is not in it, the user is unknown.
 */
import { readFile } from 'node:fs/promises';
import { isIPv4, isIPv6 } from 'node:net';

/** One connection, as the server sees it. */
export interface Peer {
  /** The same object for as long as the connection lives: what was found out is kept with it. */
  readonly connection: object;
  readonly remoteAddress: string | undefined;
  readonly remotePort: number | undefined;
  readonly localAddress: string | undefined;
  readonly localPort: number | undefined;
}

/** Returns the user id of the other end, or null if it is unknown; without a promise once it was found out. */
export type OwnerOf = (peer: Peer) => number | null | Promise<number | null>;

const LISTS = ['/proc/net/tcp', '/proc/net/tcp6'] as const;

/** Reads the kernel's lists for a new connection, and once for all connections that are new together. */
export function peerOwners(
  read: (path: string) => Promise<string> = (path) => readFile(path, 'latin1'),
): OwnerOf {
  const known = new WeakMap<object, number | null | Promise<number | null>>();
  let next: Promise<readonly string[]> | null = null;
  let running: Promise<unknown> = Promise.resolve();
  // A list that was begun before the question may lack the connection: the caller waits for the next one.
  const lists = (): Promise<readonly string[]> => {
    next ??= running.then(() => {
      next = null;
      const texts = Promise.all(LISTS.map((path) => read(path).catch(() => '')));
      running = texts;
      return texts;
    });
    return next;
  };
  // The kernel writes the list piece by piece while connections come and go: one may be left out.
  const search = async (peer: Peer): Promise<number | null> => {
    for (let tries = 0; tries < TRIES; tries += 1) {
      const texts = await lists();
      const owner = ownerIn(texts, peer);
      if (owner !== null || texts.every((text) => text === '')) return owner;
    }
    return null;
  };
  return (peer) => {
    const before = known.get(peer.connection);
    if (before !== undefined) return before;
    const asked = search(peer).then((owner) => {
      known.set(peer.connection, owner);
      return owner;
    });
    known.set(peer.connection, asked);
    return asked;
  };
}

const TRIES = 3;

/** Columns: number, local and remote address, state, queues, timer, retransmits, user, timeout, inode. */
function ownerIn(texts: readonly string[], peer: Peer): number | null {
  const theirs = endpoints(peer.remoteAddress, peer.remotePort);
  const ours = endpoints(peer.localAddress, peer.localPort);
  for (const text of texts) {
    for (const line of text.split('\n')) {
      // Nearly all lines are of others: this is cheaper than splitting them.
      if (!theirs.some((end) => line.includes(end))) continue;
      const [, local = '', remote = '', , , , , user = '', , inode = '0'] = line
        .trim()
        .split(/\s+/);
      if (!theirs.includes(local) || !ours.includes(remote)) continue;
      // A socket that its process has closed is listed as root's, without an inode.
      if (inode !== '0' && /^\d+$/.test(user)) return Number(user);
    }
  }
  return null;
}

/** One end of a connection in all the ways in which the kernel may write it. */
function endpoints(address: string | undefined, port: number | undefined): readonly string[] {
  if (address === undefined || port === undefined) return [];
  return kernelAddresses(address).map((code) => `${code}:${portCode(port)}`);
}

function portCode(port: number): string {
  return port.toString(16).toUpperCase().padStart(4, '0');
}

/** As the kernel writes it on this machine: words of 32 bits, each in the byte order of the processor. A
 * connection to an IPv4 address may be one of an IPv6 socket. */
function kernelAddresses(address: string): readonly string[] {
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, '');
  if (isIPv4(plain)) {
    const word = wordCode(plain.split('.').map(Number));
    return [word, `${ZERO}${ZERO}${wordCode([0, 0, 0xff, 0xff])}${word}`];
  }
  // The only other address of this machine that counts as loopback.
  return isIPv6(plain) && plain === '::1' ? [`${ZERO}${ZERO}${ZERO}${wordCode([0, 0, 0, 1])}`] : [];
}

const ZERO = '00000000';
const isLittleEndian = new Uint8Array(new Uint16Array([1]).buffer)[0] === 1;

function wordCode(bytes: readonly number[]): string {
  const ordered = isLittleEndian ? bytes.toReversed() : bytes;
  return ordered.map((byte) => byte.toString(16).toUpperCase().padStart(2, '0')).join('');
}
