/** Who may come in at this node's doors, and what it shows at others'. */
import type { NodeSettings } from '../config/index.ts';
import type { AccessCheck, ConnectionOptions } from '../protocol/index.ts';
import {
  accessFor,
  accessWith,
  checkBinding,
  exactToken,
  isLoopback,
  loadClientTls,
  loadServerTls,
  readToken,
} from '../security/index.ts';
import type { Access, ServerTls } from '../security/index.ts';

export interface NodeCredentials {
  readonly access: Access;
  readonly tls: ServerTls | undefined;
  /** How this node calls the leader. */
  readonly outgoing: Way;
  /** How it looks at the address that a worker gave. */
  readonly probing: (host: string) => Way;
}

type Way = Pick<ConnectionOptions, 'tls' | 'token'>;

/** Throws before anything listens where strangers could come in. With `own` that token opens both doors,
 * and no other does. */
export function credentialsFor(
  node: NodeSettings,
  say: (line: string) => void,
  own?: string,
): NodeCredentials {
  const { host, tokenFile, insecure } = node;
  const tls = loadServerTls(node);
  const kind = checkBinding({ host, tokenFile, tls: tls !== undefined, insecure });
  if (kind === 'insecure') say(`Anybody who reaches ${host} may do everything (--insecure).`);
  const isPlain = tls === undefined;
  const way = (token: string | undefined): Way => ({
    tls: isPlain ? null : clientTls(node),
    token: () => token ?? null,
  });
  return {
    access: own === undefined ? accessFor({ tokenFile, warn: say }) : accessWith(own),
    tls,
    outgoing: way(readToken(node, node.role === 'observer' ? 'read' : 'worker')),
    // Whoever registered may have given any address: it is shown nothing that is worth more than what
    // he has, and nothing at all where others could listen.
    probing: (host) =>
      way(isPlain && !isLoopback(host) ? undefined : (own ?? exactToken(tokenFile, 'worker'))),
  };
}

function clientTls(node: NodeSettings): NonNullable<ConnectionOptions['tls']> {
  const { ca, cert, key } = loadClientTls(node);
  return {
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
  };
}

/** The same rule for gRPC as for HTTP. */
export function rpcAccess(access: Access): AccessCheck {
  return ({ authorization, peerCertificate }, needed) => {
    const name = peerCertificate?.subject.CN;
    const CN = Array.isArray(name) ? name[0] : name;
    access.allow(
      {
        ...(authorization === null ? {} : { authorization }),
        ...(peerCertificate === null ? {} : { peerCertificate: { subject: CN ? { CN } : {} } }),
      },
      needed,
    );
  };
}
