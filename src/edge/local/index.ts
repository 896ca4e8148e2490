/**
 * The node in another thread of the same process, without a network: the services that workers and programs use all the
 * time, through message ports. Everything else they ask over HTTP, like anybody. Nothing is decided here.
 */
export { type LocalJobs, jobMethods, localJobs, type WhenEnded } from './job-port.ts';
export { errorParts } from './messages.ts';
export { PortCaller } from './port-caller.ts';
export { type LocalMethods, servePort } from './port-server.ts';
export { localWorker, workerMethods } from './worker-port.ts';
