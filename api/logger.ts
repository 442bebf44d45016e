// The logger interface that the API uses; `service/logging.ts` implements it.

type Fields = Readonly<Record<string, unknown>>
export interface Logger {
  debug(fields: Fields, message: string): void
  info(fields: Fields, message: string): void
  warn(fields: Fields, message: string): void
  error(fields: Fields, message: string): void
}
