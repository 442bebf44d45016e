// Program logging as the API sees it; `service/logging.ts` opens it.

type Fields = Readonly<Record<string, unknown>>
export interface Logger {
  debug(fields: Fields, message: string): void
  info(fields: Fields, message: string): void
  warn(fields: Fields, message: string): void
  error(fields: Fields, message: string): void
}
