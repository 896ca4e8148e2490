/** Whom this node accepts, and the credentials that it presents to others. */
import { defined } from '../../kit/index.ts';
import type { NodeSettings } from '../config/index.ts';
import type { ConnectionOptions } from '../../edge/grpc/index.ts';
import {
  checkBinding,
  exactToken,
  listenerAccess,
  loadClientTls,
  loadServerTls,
  readToken,
  shownToken,
} from '../../edge/security/index.ts';
import type { ListenerAccess, ServerTls } from '../../edge/security/index.ts';

export interface NodeCredentials extends ListenerAccess {
  readonly tls: ServerTls | undefined;
  /** How this node calls the leader. */
  readonly outgoing: Way;
  /** How it fetches rows from the address that a worker gave. */
  readonly fetching: Way;
}

type Way = Pick<ConnectionOptions, 'tls' | 'token'>;

/** Throws before anything listens where others could connect without credentials. With `own`, that token and no other
 * is accepted over HTTP and gRPC. */
export function credentialsFor(
  node: NodeSettings,
  say: (line: string) => void,
  own?: string,
): NodeCredentials {
  const { host, tokenFile, insecure } = node;
  const tls = loadServerTls(node);
  const kind = checkBinding({ host, tokenFile, tls: tls !== undefined, insecure });
  if (kind === 'insecure') say(`Every client that can reach ${host} has full access (--insecure).`);
  const isEncrypted = tls !== undefined;
  const way = (token: string | undefined, mayBePlain: boolean): Way => ({
    tls: isEncrypted ? clientTls(node) : null,
    token: shownToken({ token: token ?? null, isEncrypted, insecure: mayBePlain }),
  });
  return {
    ...listenerAccess({ host, tokenFile, token: own, insecure, warn: say }),
    tls,
    outgoing: way(readToken(node, node.role === 'observer' ? 'read' : 'worker'), insecure),
    // A registered worker may have given any address: it is shown nothing that is worth more than its own token, and
    // nothing at all where others could listen.
    fetching: way(own ?? exactToken(tokenFile, 'worker'), false),
  };
}

function clientTls(node: NodeSettings): NonNullable<ConnectionOptions['tls']> {
  const { ca, cert, key } = loadClientTls(node);
  return defined({ ca, cert, key });
}
