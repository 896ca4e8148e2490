/**
 * What nodes say to each other: the ports that both ends keep, the generated messages, the codecs
 * between the two, and the gRPC servers and clients that carry them. Nothing here decides anything:
 * behind a server stands a service of the coordinator, before a client a worker or an observer.
 */
export type { ClientTls, ConnectionOptions } from './client/connections.ts';
export { LeaderChannel } from './client/leader-channel.ts';
export type { LeaderChannelOptions } from './client/leader-channel.ts';
export { remoteReader } from './client/remote-reader.ts';
export { workerChannel } from './client/worker-channel.ts';
export { keepAliveFor } from './limits.ts';
export type { KeepAlive } from './limits.ts';
export { controlPlaneService } from './server/control-plane.ts';
export type { ControlPlaneOptions } from './server/control-plane.ts';
export type { RpcService } from './server/handlers.ts';
export { startRpcServer } from './server/rpc-server.ts';
export type { RpcServer, RpcServerOptions } from './server/rpc-server.ts';
export { shuffleService } from './server/shuffle-service.ts';
export { heartbeatService, workerService } from './server/small-services.ts';
export { ShuffleChannel } from './client/shuffle-channel.ts';
