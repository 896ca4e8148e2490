#!/usr/bin/env python3
"""A worker in Python: it registers executors with a Millrace cluster and runs tasks.

It needs grpcio and protobuf (Debian: python3-grpcio), and the messages of proto/ as a descriptor set:

    npx buf build proto -o millrace.binpb        # or: protoc -I proto --include_imports
                                                 #     --descriptor_set_out=millrace.binpb proto/millrace/v1/*.proto
    python3 worker.py --server 127.0.0.1:7071 --descriptors millrace.binpb
"""
import argparse
import collections
import json
import os
import signal
import threading
import traceback
import uuid
from concurrent.futures import ThreadPoolExecutor

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

PROTOCOL_VERSION = 5
POLL_MS = 20_000


# What this worker can do: a name, and a function from the input to the result.


def word_count(text):
    """Counts the words of a text."""
    return dict(sorted(collections.Counter(text.lower().split()).items()))


def explode(_input):
    raise ValueError("this always fails")


EXECUTORS = {"word_count": word_count, "explode": explode}


class Protocol:
    """The messages of proto/, and calls to whoever leads."""

    def __init__(self, path, addresses, token):
        pool = descriptor_pool.DescriptorPool()
        files = descriptor_pb2.FileDescriptorSet()
        with open(path, "rb") as file:
            files.ParseFromString(file.read())
        for each in files.file:
            pool.AddSerializedFile(each.SerializeToString())
        self._pool = pool
        self._addresses = addresses
        self._at = addresses[0]
        self._channels = {}
        self._metadata = [("authorization", f"Bearer {token}")] if token else []
        self._lock = threading.Lock()

    def message(self, name, **fields):
        found = self._pool.FindMessageTypeByName(f"millrace.v1.{name}")
        if hasattr(message_factory, "GetMessageClass"):
            return message_factory.GetMessageClass(found)(**fields)
        return message_factory.MessageFactory(self._pool).GetPrototype(found)(**fields)  # protobuf 3

    def ask(self, service, method, request, stopped, timeout=10):
        """Calls the leader, and looks for it until somebody answers. Every call may be repeated."""
        answer = self.message(f"{method}Response")
        while not stopped.is_set():
            address = self._at
            call = self._channel(address).unary_unary(
                f"/millrace.v1.{service}/{method}",
                request_serializer=lambda message: message.SerializeToString(),
                response_deserializer=type(answer).FromString,
            )
            try:
                return call(request, timeout=timeout, metadata=self._metadata)
            except grpc.RpcError as failure:
                detail = self._detail(failure)
                leader = detail.leader.grpc if detail is not None else ""
                if leader and leader != address:
                    self._at = leader
                elif failure.code() in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED):
                    known = self._addresses.index(address) if address in self._addresses else -1
                    self._at = self._addresses[(known + 1) % len(self._addresses)]
                    stopped.wait(0.2)
                else:
                    raise Refused(detail.code if detail is not None else "", failure.details()) from failure
        raise Refused("stopped", "this worker is shutting down")

    def _channel(self, address):
        with self._lock:
            if address not in self._channels:
                self._channels[address] = grpc.insecure_channel(address)
            return self._channels[address]

    def _detail(self, failure):
        for key, value in failure.trailing_metadata() or ():
            if key == "millrace-error-bin":
                detail = self.message("ErrorDetail")
                detail.ParseFromString(value)
                return detail
        return None


class Refused(Exception):
    """The leader's refusal: `code` is stable, the text is for people."""

    def __init__(self, code, words):
        super().__init__(words)
        self.code = code


class Worker:
    def __init__(self, protocol, worker_id, slots):
        self._protocol = protocol
        self._id = worker_id
        self._slots = slots
        self._session = ""
        self._heartbeat_s = 3
        self._held = {}
        self._polls = 0
        self._seen_poll = 0
        self._stopped = threading.Event()
        self._draining = False
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        self._pool = ThreadPoolExecutor(max_workers=slots)

    def run(self):
        self._register()
        print(f"python worker ready {self._id}", flush=True)
        threading.Thread(target=self._heartbeats, daemon=True).start()
        self._poll_for_work()
        self._leave()

    def stop(self):
        with self._changed:
            self._draining = True
            self._changed.notify_all()

    def _ask(self, service, method, fields, timeout=10):
        with self._lock:
            who = {"worker_id": self._id, "session_id": self._session}
        request = self._protocol.message(f"{method}Request", **who, **fields)
        return self._protocol.ask(service, method, request, self._stopped, timeout)

    def _register(self):
        """Opens a session. Whoever has lost one begins anew: its tasks are somebody else's now."""
        with self._changed:
            self._session = str(uuid.uuid4())
            self._held = {}
            self._polls = self._seen_poll = 0
            self._changed.notify_all()
        offer = {"slots": self._slots, "executors": sorted(EXECUTORS), "protocol_version": PROTOCOL_VERSION}
        offer["capabilities_json"] = json.dumps({"language": "python"}).encode()
        while True:
            try:
                answer = self._ask("ControlPlane", "RegisterWorker", offer)
                self._heartbeat_s = answer.heartbeat_ms / 1000
                return
            except Refused as refused:
                # A worker of this name has crashed, and its session has not expired yet.
                if refused.code not in ("conflict", "name_taken"):
                    raise
                self._stopped.wait(0.5)

    def _or_register(self, refused, session):
        if refused.code not in ("unknown_session", "superseded"):
            raise refused
        with self._lock:
            if session == self._session:
                self._register()

    def _heartbeats(self):
        while not self._stopped.wait(self._heartbeat_s):
            with self._lock:
                session = self._session
                beat = {"held": list(self._held.values()), "seen_poll": self._seen_poll}
            beat["running_tasks"] = len(beat["held"])
            try:
                self._obey(self._ask("HeartbeatService", "Heartbeat", beat).orders)
            except Refused as refused:
                if not self._stopped.is_set():
                    self._or_register(refused, session)

    def _poll_for_work(self):
        while True:
            with self._changed:
                while len(self._held) >= self._slots or (self._draining and self._held):
                    self._changed.wait(0.5)
                if self._draining:
                    return
                self._polls += 1
                session, number = self._session, self._polls
                poll = {"capacity": self._slots - len(self._held), "held": list(self._held.values())}
            try:
                # Short enough to notice that the worker is to stop.
                poll.update(poll_no=number, wait_ms=min(POLL_MS, 2_000))
                answer = self._ask("ControlPlane", "GetTask", poll, timeout=POLL_MS / 1000 + 10)
            except Refused as refused:
                self._or_register(refused, session)
                continue
            with self._lock:
                if session != self._session:
                    continue
                self._seen_poll = number
                for task in answer.tasks:
                    if self._name(task.lease) not in self._held:
                        self._held[self._name(task.lease)] = task.lease
                        self._pool.submit(self._run_task, task, session)
            self._obey(answer.orders)

    def _obey(self, orders):
        """A thread of Python cannot be stopped: what a stopped task reports is refused, and that is all."""
        if orders.drain:
            self.stop()

    def _run_task(self, task, session):
        try:
            self._report(task, session, started={})
            result = EXECUTORS[task.executor](json.loads(task.input_json or b"null"))
            outcome = {"completed": {"result_json": json.dumps(result).encode()}}
        except Exception as error:  # What a handler raises is the outcome of its task.
            traceback.print_exc()
            words = {"code": type(error).__name__, "message": str(error)}
            outcome = {"failed": {"error": words, "failure": "FAILURE_CLASS_RETRYABLE"}}
        try:
            self._report(task, session, **outcome)
        except Refused as refused:
            print(f"{task.task_name}: {refused}", flush=True)
        finally:
            with self._changed:
                self._held.pop(self._name(task.lease), None)
                self._changed.notify_all()

    def _report(self, task, session, **what):
        with self._lock:
            if session != self._session:
                raise Refused("superseded", "the session of this task has ended")
        report = {name: getattr(task, name) for name in ("query_id", "stage_id", "task_id", "attempt", "lease")}
        return self._ask("ControlPlane", "ReportTaskStatus", {"reports": [{**report, **what}]})

    def _leave(self):
        try:
            self._ask("ControlPlane", "DeregisterWorker", {})
        except Refused:
            pass  # Its session ends by itself.
        self._stopped.set()

    @staticmethod
    def _name(lease):
        return (lease.job_no, lease.task_no, lease.fence)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", default="127.0.0.1:7071", help="HOST:GRPC[,...]")
    parser.add_argument("--descriptors", default="millrace.binpb")
    parser.add_argument("--id", default=f"python-{os.getpid()}")
    parser.add_argument("--slots", type=int, default=4)
    given = parser.parse_args()
    token = os.environ.get("MILLRACE_TOKEN", "")
    worker = Worker(Protocol(given.descriptors, given.server.split(","), token), given.id, given.slots)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: worker.stop())
    worker.run()


if __name__ == "__main__":
    main()
