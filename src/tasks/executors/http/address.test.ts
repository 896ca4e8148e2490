import { isIP } from 'node:net';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { classifyFailure } from '../failure.ts';
import { guarded, isRefusedAddress } from './address.ts';

test.each([
  ['unspecified', '0.0.0.0'],
  ['unspecified, IPv6', '::'],
  ['this network', '0.1.2.3'],
  ['private', '10.0.0.1'],
  ['private', '172.16.0.1'],
  ['private', '172.31.255.255'],
  ['private', '192.168.1.1'],
  ['shared', '100.64.0.1'],
  ['shared', '100.127.255.255'],
  ['loopback', '127.0.0.1'],
  ['loopback', '127.255.255.254'],
  ['loopback, IPv6', '::1'],
  ['link-local', '169.254.1.1'],
  ['metadata', '169.254.169.254'],
  ['metadata', '168.63.129.16'],
  ['metadata', '100.100.100.200'],
  ['metadata, IPv6', 'fd00:ec2::254'],
  ['multicast', '224.0.0.1'],
  ['multicast', '239.255.255.255'],
  ['reserved', '240.0.0.1'],
  ['broadcast', '255.255.255.255'],
  ['benchmarks', '198.19.0.1'],
  ['documentation', '192.0.2.1'],
  ['documentation, IPv6', '2001:db8::1'],
  ['documentation, IPv6', '3fff::1'],
  ['mapped loopback', '::ffff:127.0.0.1'],
  ['mapped loopback in hex', '::ffff:7f00:1'],
  ['mapped public', '::ffff:8.8.8.8'],
  ['compatible loopback', '::127.0.0.1'],
  ['translated', '::ffff:0:127.0.0.1'],
  ['NAT64', '64:ff9b::7f00:1'],
  ['NAT64, local', '64:ff9b:1::7f00:1'],
  ['6to4', '2002:7f00:1::'],
  ['Teredo', '2001:0:4136:e378:8000:63bf:3fff:fdd2'],
  ['unique local', 'fc00::1'],
  ['unique local', 'fdff::1'],
  ['link-local, IPv6', 'fe80::1'],
  ['link-local with a zone', 'fe80::1%eth0'],
  ['site-local', 'fec0::1'],
  ['multicast, IPv6', 'ff02::1'],
  ['discard', '100::1'],
  ['no address', 'localhost'],
  ['nothing', ''],
])('%s is refused: %s', (_name, address) => {
  expect(isRefusedAddress(address)).toBe(true);
});

test.each([
  '1.1.1.1',
  '9.255.255.255',
  '11.0.0.0',
  '100.63.255.255',
  '100.128.0.0',
  '126.255.255.255',
  '128.0.0.0',
  '172.15.255.255',
  '172.32.0.0',
  '192.167.255.255',
  '223.255.255.255',
  '2606:4700:4700::1111',
  '2a00:1450:4001:800::200e',
  '2400:cb00:2048:1::c629:d7a2',
])('%s is public', (address) => {
  expect(isRefusedAddress(address)).toBe(false);
});

/** The ranges once more, as numbers, and read by nothing that the code under test uses. */
const RANGES_V4: readonly (readonly [number, number])[] = (
  [
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
    ['224.0.0.0', 3],
  ] as const
).map(([net, bits]) => {
  const first = net.split('.').reduce((sum, byte) => sum * 256 + Number(byte), 0);
  return [first, first + 2 ** (32 - bits) - 1];
});

function dotted(number: number): string {
  return [24, 16, 8, 0].map((shift) => Math.floor(number / 2 ** shift) % 256).join('.');
}

/** Half of them anywhere, half near the edge of a range. */
const numberV4 = fc.oneof(
  fc.integer({ min: 0, max: 2 ** 32 - 1 }),
  fc
    .tuple(fc.constantFrom(...RANGES_V4.flat()), fc.integer({ min: -2, max: 2 }))
    .map(([edge, by]) => Math.min(2 ** 32 - 1, Math.max(0, edge + by))),
);

test('an IPv4 address is refused exactly if it is in a special range', () => {
  fc.assert(
    fc.property(numberV4, (number) => {
      const isSpecial = RANGES_V4.some(([first, last]) => number >= first && number <= last);
      expect(isRefusedAddress(dotted(number))).toBe(isSpecial);
    }),
    { numRuns: 2_000 },
  );
});

test('an IPv4 address embedded in an IPv6 one is refused', () => {
  fc.assert(
    fc.property(
      numberV4,
      fc.constantFrom('::ffff:', '::', '::ffff:0:', '64:ff9b::', '64:ff9b:1::'),
      fc.boolean(),
      (number, prefix, isHex) => {
        const hex = `${Math.floor(number / 65_536).toString(16)}:${(number % 65_536).toString(16)}`;
        const address = `${prefix}${isHex ? hex : dotted(number)}`;
        expect(isIP(address)).toBe(6);
        expect(isRefusedAddress(address)).toBe(true);
      },
    ),
  );
});

test('outside of 2000::/3 no IPv6 address is public, whatever its letters and zeros', () => {
  const group = fc.integer({ min: 0, max: 0xffff });
  fc.assert(
    fc.property(fc.tuple(...Array.from({ length: 8 }, () => group)), (groups) => {
      const [first = 0, second = 0] = groups;
      const isGlobal = first >= 0x2000 && first <= 0x3fff;
      const isTaken =
        (first === 0x2001 && (second <= 0x1ff || second === 0xdb8)) ||
        first === 0x2002 ||
        (first === 0x3fff && second <= 0xfff);
      const text = groups.map((each) => each.toString(16)).join(':');
      expect(isRefusedAddress(text)).toBe(!isGlobal || isTaken);
      expect(isRefusedAddress(text.toUpperCase())).toBe(!isGlobal || isTaken);
    }),
    { numRuns: 2_000 },
  );
});

type Found = readonly { readonly address: string; readonly family: number }[];

function lookedUp(found: Found, all: boolean): Promise<unknown> {
  const lookup = guarded(isRefusedAddress, (_host, _options, callback) => {
    callback(null, [...found]);
  });
  return new Promise((resolve, reject) => {
    lookup('a.example', { all }, (error, address, family) => {
      if (error === null) resolve(all ? address : [address, family]);
      else reject(error);
    });
  });
}

test('only public addresses of a name are connected to', async () => {
  const found = [
    { address: '10.0.0.1', family: 4 },
    { address: '1.1.1.1', family: 4 },
    { address: '::1', family: 6 },
    { address: '2606:4700:4700::1111', family: 6 },
  ];
  expect(await lookedUp(found, true)).toEqual([found[1], found[3]]);
  expect(await lookedUp(found, false)).toEqual(['1.1.1.1', 4]);
});

test('a name with private addresses only is refused for good, and they are not shown', async () => {
  const error: unknown = await lookedUp([{ address: '10.9.8.7', family: 4 }], true).catch(
    (thrown: unknown) => thrown,
  );
  expect(classifyFailure(error)).toEqual({
    failure: 'fatal',
    error: { code: 'refused_address', message: expect.not.stringContaining('10.9.8.7') as string },
  });
  await expect(lookedUp([], true)).rejects.toMatchObject({ code: 'refused_address' });
});
