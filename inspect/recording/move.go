package recording

import (
	"reflect"
	"time"

	"lockscope/inspect"
)

var timeType = reflect.TypeFor[time.Time]()

// moveTimes adds to every instant of an update that nobody else has seen yet.
func moveTimes(u *inspect.Update, by time.Duration) { move(reflect.ValueOf(u).Elem(), by) }

func move(v reflect.Value, by time.Duration) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			move(v.Elem(), by)
		}
	case reflect.Slice:
		if mayHoldTimes(v.Type().Elem()) {
			for i := range v.Len() {
				move(v.Index(i), by)
			}
		}
	case reflect.Map:
		if mayHoldTimes(v.Type().Elem()) {
			moveMap(v, by)
		}
	case reflect.Struct:
		if v.Type() == timeType {
			if t := v.Interface().(time.Time); !t.IsZero() {
				v.Set(reflect.ValueOf(t.Add(by)))
			}
			return
		}
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				move(v.Field(i), by)
			}
		}
	}
}

// moveMap puts moved copies in place of the values, which cannot be changed where they are.
func moveMap(v reflect.Value, by time.Duration) {
	for _, key := range v.MapKeys() {
		value := reflect.New(v.Type().Elem()).Elem()
		value.Set(v.MapIndex(key))
		move(value, by)
		v.SetMapIndex(key, value)
	}
}

func mayHoldTimes(t reflect.Type) bool {
	return t.Kind() == reflect.Struct || t.Kind() == reflect.Pointer
}
