/** Addresses that the `http` executor refuses: everything but public hosts of the Internet. Tasks come from all users
 * who may submit; the worker that runs them can often reach much more. */
import { lookup as systemLookup } from 'node:dns';
import type { LookupAddress } from 'node:dns';
import { BlockList, isIP } from 'node:net';
import type { LookupFunction } from 'node:net';
import { TaskFailure } from '../failure.ts';

/** The IANA registry of special addresses, and the metadata service that has a public one. */
const REFUSED_V4: readonly (readonly [string, number])[] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['168.63.129.16', 32],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
];

/** Of IPv6 only this is given out as public. All that embeds or translates IPv4 lies outside of it, or ... */
const PUBLIC_V6 = ['2000::', 3] as const;
/** ... here: tunnels, documentation and what the registry keeps for protocols. */
const REFUSED_V6: readonly (readonly [string, number])[] = [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
];

const refused = new BlockList();
for (const [net, bits] of REFUSED_V4) refused.addSubnet(net, bits, 'ipv4');
for (const [net, bits] of REFUSED_V6) refused.addSubnet(net, bits, 'ipv6');
const publicV6 = new BlockList();
publicV6.addSubnet(...PUBLIC_V6, 'ipv6');

/** What is not an address is refused as well. */
export function isRefusedAddress(text: string): boolean {
  const [address = ''] = text.split('%', 1);
  switch (isIP(address)) {
    case 4:
      return refused.check(address, 'ipv4');
    case 6:
      return !publicV6.check(address, 'ipv6') || refused.check(address, 'ipv6');
    default:
      return true;
  }
}

/**
 * Asks for the addresses of a name and leaves out those that are refused. The connection is made to what
 * it answers, so a second look at the name cannot give another address.
 */
export function guarded(
  isRefused: (address: string) => boolean,
  lookup: LookupFunction = systemLookup,
): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, found) => {
      if (error !== null) return callback(error, []);
      const all: readonly LookupAddress[] = Array.isArray(found) ? found : [];
      const allowed = all.filter(({ address }) => !isRefused(address));
      const [first] = allowed;
      if (first === undefined) return callback(refusedAddress(hostname), []);
      if (options.all === true) callback(null, allowed);
      else callback(null, first.address, first.family);
    });
  };
}

/** An address in the URL itself is never looked up. */
export function refuseLiteral({ hostname }: URL, isRefused: (address: string) => boolean): void {
  const host = hostname.replace(/^\[(.*)\]$/, '$1');
  if (isIP(host) !== 0 && isRefused(host)) throw refusedAddress(host);
}

/** The address is not shown: otherwise a task could be used to map a network. */
function refusedAddress(host: string): TaskFailure {
  return new TaskFailure(
    'refused_address',
    'fatal',
    `${host} is not a public address, and this worker may call only public ones. ` +
      'Start the worker with --allow-private-http to allow it.',
  );
}
