/** Access control of a listening process: one rule for servers and workers. */
import { accessWith, openAccess, tokenAccess, type Access } from './access.ts';
import { isLoopback } from './binding.ts';
import { makeLocalToken } from './local-token.ts';
import { ownUserAccess } from './own-user.ts';

export interface ListenerSettings {
  readonly host: string;
  /** The file with the tokens that are accepted. */
  readonly tokenFile: string | undefined;
  /** The only token that is accepted. */
  readonly token: string | undefined;
  /** Whether the operator trusts everybody who can connect. */
  readonly insecure: boolean;
  readonly warn: (sentence: string) => void;
}

export interface ListenerAccess {
  readonly access: Access;
  /** Called for each port once it is open. */
  published(port: number): void;
  /** When nothing listens any more. */
  withdrawn(): void;
}

/** Where others could come in without being asked, `checkBinding` has refused to listen before. */
export function listenerAccess(settings: ListenerSettings): ListenerAccess {
  const { host, tokenFile, token, insecure, warn } = settings;
  if (token !== undefined) return unpublished(accessWith(token));
  if (tokenFile !== undefined) return unpublished(tokenAccess({ path: tokenFile, warn }));
  if (insecure || !isLoopback(host)) return unpublished(openAccess);
  const local = makeLocalToken();
  return {
    access: ownUserAccess({ token: local.token, tokenPath: local.path }),
    published: (port) => local.publish(port),
    withdrawn: () => local.withdraw(),
  };
}

function unpublished(access: Access): ListenerAccess {
  return { access, published: () => {}, withdrawn: () => {} };
}
