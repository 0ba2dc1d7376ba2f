package recording

import (
	"reflect"
	"time"

	"lockscope/inspect"
)

var (
	timeType      = reflect.TypeFor[time.Time]()
	idType        = reflect.TypeFor[inspect.ID]()
	untrustedType = reflect.TypeFor[inspect.Untrusted]()
)

// moveTimes adds to every instant of an update that nobody else has seen yet.
func moveTimes(u *inspect.Update, by time.Duration) {
	walk(reflect.ValueOf(u).Elem(), func(v reflect.Value) {
		if v.Type() != timeType {
			return
		}
		if t := v.Interface().(time.Time); !t.IsZero() {
			v.Set(reflect.ValueOf(t.Add(by)))
		}
	})
}

// unescape reads back every text of an update as it was read from a line; names and ids have read themselves.
func unescape(u *inspect.Update) (err error) {
	walk(reflect.ValueOf(u).Elem(), func(v reflect.Value) {
		if v.Kind() != reflect.String || v.Type() == untrustedType || err != nil {
			return
		}
		var raw string
		if raw, err = inspect.Unescape(v.String()); err == nil {
			v.SetString(raw)
		}
	})
	return err
}

// walk visits every instant and every text in v that can be set, but not what stands in a finding's evidence.
func walk(v reflect.Value, visit func(reflect.Value)) {
	switch v.Kind() {
	case reflect.String:
		visit(v)
	case reflect.Pointer:
		if !v.IsNil() {
			walk(v.Elem(), visit)
		}
	case reflect.Slice:
		for i := range v.Len() {
			walk(v.Index(i), visit)
		}
	case reflect.Map:
		walkMap(v, visit)
	case reflect.Struct:
		switch v.Type() {
		case timeType:
			visit(v)
		case idType:
		default:
			for i := range v.NumField() {
				if v.Field(i).CanSet() {
					walk(v.Field(i), visit)
				}
			}
		}
	}
}

// walkMap puts visited copies in place of a map's values, which cannot be set where they are.
func walkMap(v reflect.Value, visit func(reflect.Value)) {
	if v.Type().Elem().Kind() != reflect.Struct {
		return
	}
	for _, key := range v.MapKeys() {
		value := reflect.New(v.Type().Elem()).Elem()
		value.Set(v.MapIndex(key))
		walk(value, visit)
		v.SetMapIndex(key, value)
	}
}
