import { expect, test } from 'vitest';
import { bearer } from './client-token.ts';
import { ownUserAccess } from './own-user.ts';

const TOKEN = 'made-up-0123456789abcdef';
const peer = {
  connection: {},
  remoteAddress: '127.0.0.1',
  remotePort: 1,
  localAddress: '127.0.0.1',
  localPort: 2,
};

function access(
  owner: number | null,
  tokenPath: string | null = '/run/user/1000/millrace/1.token',
) {
  return ownUserAccess({
    token: TOKEN,
    tokenPath: () => tokenPath,
    ownerOf: () => Promise.resolve(owner),
    userId: 1000,
  });
}

test.each([
  ['the user of the server', 1000],
  ['root', 0],
])('lets %s do everything without a token', async (_who, owner) => {
  expect(await access(owner).allow({ peer }, 'admin')).toMatchObject({ role: 'admin' });
  // It may be meant for another server.
  const authorization = bearer('a-token-of-another-server');
  expect(await access(owner).allow({ peer, authorization }, 'worker')).toMatchObject({
    role: 'admin',
  });
});

test('refuses another user, and says what to do', async () => {
  for (const authorization of [undefined, bearer('wrong-0123456789abcdef'), `Basic ${TOKEN}`]) {
    await expect(access(1001).allow({ peer, authorization }, 'read')).rejects.toMatchObject({
      code: 'unauthenticated',
      why: 'The connection belongs to user 1001, and the server runs as user 1000.',
      todo: expect.stringContaining('--token-file') as string,
    });
  }
});

test('accepts the token of the server, and binds sessions in the same way', async () => {
  const shown = await access(1001).allow({ peer, authorization: bearer(TOKEN) }, 'admin');
  expect(shown).toEqual(await access(1000).allow({ peer }, 'admin'));
});

test('where the user of a connection is unknown, names the file with the token', async () => {
  const error = access(null).allow({ peer }, 'read');
  await expect(error).rejects.toMatchObject({
    code: 'unauthenticated',
    todo: expect.stringContaining(
      '`Authorization: Bearer $(cat /run/user/1000/millrace/1.token)`',
    ) as string,
  });
  await expect(access(null).allow({}, 'read')).rejects.toThrow('--token-file');
  await expect(access(null, null).allow({ peer }, 'read')).rejects.not.toThrow('cat');
});
