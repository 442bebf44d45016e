// Declares the parts of Arduino for an ESP32, PubSubClient 2.8 and ArduinoJson 7 that the Arduino sample uses, so that
// a compiler can check the sample.
#pragma once
#include <cstddef>
#include <cstdint>

typedef uint8_t byte;
#define HEX 16

class String {
public:
  String(const char *text = "");
  String(unsigned int number, unsigned char base);
  const char *c_str() const;
};
String operator+(const String &left, const String &right);
String operator+(const String &left, const char *right);
String operator+(const char *left, const String &right);

unsigned long millis();
uint32_t esp_random();

class Client {};
class WiFiClient : public Client {};
enum wl_status_t { WL_CONNECTED = 3 };
class WiFiClass {
public:
  wl_status_t begin(const char *name, const char *password);
  wl_status_t status();
};
extern WiFiClass WiFi;

class PubSubClient {
public:
  PubSubClient(const char *host, uint16_t port, Client &client);
  bool setBufferSize(uint16_t bytes);
  PubSubClient &setKeepAlive(uint16_t seconds);
  PubSubClient &setCallback(void (*callback)(char *topic, uint8_t *payload, unsigned int length));
  bool connect(const char *id, const char *user, const char *pass, const char *willTopic, uint8_t willQos,
               bool willRetain, const char *willMessage, bool cleanSession);
  bool connected();
  bool loop();
  bool publish(const char *topic, const char *payload);
  bool publish(const char *topic, const char *payload, bool retained);
  bool subscribe(const char *topic, uint8_t qos);
};

class JsonMember {
public:
  JsonMember &operator=(const char *text);
  JsonMember &operator=(const JsonMember &other);
};
class JsonDocument {
public:
  JsonMember operator[](const char *key);
};
class DeserializationError {
public:
  explicit operator bool() const;
};
DeserializationError deserializeJson(JsonDocument &document, const uint8_t *text, size_t length);
size_t serializeJson(const JsonDocument &document, String &text);
