/**
 * Who may come in: tokens and roles, the rule for addresses to listen on, certificates and keys, and what a
 * client shows. It decides and hands out plain values; sockets, HTTP and gRPC live in the rooms that serve.
 * Nothing in here puts a secret into an error or a warning.
 */
export { accessWith, openAccess, rpcAccess, tokenAccess } from './access.ts';
export type { Access, Caller, Credentials } from './access.ts';
export { cannotListen, checkBinding, checkPage, isLoopback } from './binding.ts';
export {
  bearer,
  checkTokenPath,
  exactToken,
  isTokenList,
  readToken,
  shownToken,
} from './client-token.ts';
export { listenerAccess } from './listener-access.ts';
export type { ListenerAccess, ListenerSettings } from './listener-access.ts';
export { grants, ROLES } from './roles.ts';
export type { Needed, Role } from './roles.ts';
export { httpsOptions, loadClientTls, loadServerTls } from './tls.ts';
export type { ClientTls, ServerTls, TlsFiles } from './tls.ts';
