/**
 * The loader of .proto files describes types by names that are relative to where they stand. That is
 * allowed, but many clients of reflection want them whole, beginning with a dot, as compilers write
 * them. Here they are made whole.
 */
import { fromBinary, toBinary } from '@bufbuild/protobuf';
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt';
import type { DescriptorProto, FileDescriptorProto } from '@bufbuild/protobuf/wkt';

export function withWholeNames(files: readonly Uint8Array[]): Buffer[] {
  const parsed = files.map((bytes) => fromBinary(FileDescriptorProtoSchema, bytes));
  const known = new Set<string>();
  for (const file of parsed) collect(file.messageType, file.enumType, `.${file.package}`, known);
  for (const file of parsed) mend(file, known);
  return parsed.map((file) => Buffer.from(toBinary(FileDescriptorProtoSchema, file)));
}

function collect(
  messages: readonly DescriptorProto[],
  enums: readonly { readonly name: string }[],
  scope: string,
  known: Set<string>,
): void {
  for (const { name } of enums) known.add(`${scope}.${name}`);
  for (const message of messages) {
    const name = `${scope}.${message.name}`;
    known.add(name);
    collect(message.nestedType, message.enumType, name, known);
  }
}

function mend(file: FileDescriptorProto, known: ReadonlySet<string>): void {
  const scope = `.${file.package}`;
  for (const message of file.messageType) mendMessage(message, `${scope}.${message.name}`, known);
  for (const method of file.service.flatMap((service) => service.method)) {
    method.inputType = whole(method.inputType, scope, known);
    method.outputType = whole(method.outputType, scope, known);
  }
}

function mendMessage(message: DescriptorProto, scope: string, known: ReadonlySet<string>): void {
  for (const field of message.field) field.typeName = whole(field.typeName, scope, known);
  for (const inner of message.nestedType) mendMessage(inner, `${scope}.${inner.name}`, known);
}

/** The innermost scope that knows the name wins. */
function whole(name: string, scope: string, known: ReadonlySet<string>): string {
  if (name === '' || name.startsWith('.')) return name;
  for (let outer = scope; outer !== ''; outer = outer.slice(0, outer.lastIndexOf('.'))) {
    const candidate = `${outer}.${name}`;
    if (known.has(candidate)) return candidate;
  }
  return known.has(`.${name}`) ? `.${name}` : name;
}
